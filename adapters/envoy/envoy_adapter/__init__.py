"""The adapter of Envoy: `server.run` serves files."""
