"""The adapter of ngtcp2: `server.run` serves files, `client.run` does a job."""
