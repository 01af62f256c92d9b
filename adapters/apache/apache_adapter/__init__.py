"""The adapter of Apache: `server.run` serves files."""
