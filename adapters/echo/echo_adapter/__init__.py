"""The adapter of echoes: `datagrams` over bare UDP, `quic_client` and `quic_server` over aioquic."""

NAME = "echo"
UDP, QUIC = "udp-echo", "quic-echo"
PROTOCOLS = (UDP, QUIC)
ALPN = "longlook-echo"
SMALLEST_QUIC_BYTES = 1200
"""RFC 9000, 14.1."""
