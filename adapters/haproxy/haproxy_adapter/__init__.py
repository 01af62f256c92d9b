"""The adapter of HAProxy: `proxy.run` carries connections on."""
