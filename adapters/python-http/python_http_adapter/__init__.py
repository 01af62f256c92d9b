"""The adapter of Python's own HTTP server and client: `server.run` serves files, `client.run` fetches a job."""
