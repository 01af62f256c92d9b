"""The adapter of Caddy: `server.run` serves files."""
