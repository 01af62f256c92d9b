"""The adapter of nginx: `server.run` serves files."""
