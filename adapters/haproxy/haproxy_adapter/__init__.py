"""The adapter of HAProxy: `server.run` serves files of an origin, `proxy.run` carries connections on."""
