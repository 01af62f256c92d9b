"""The adapter of aioquic: `server.run` serves files, `client.run` does a job."""
