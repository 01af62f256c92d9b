"""HAProxy's configuration as a proxy of TCP, and the meaning of its log."""

from typing import Any

from longlook_adapter.options import ProxyOptions

SEPARATOR = "|"

_FORM = """\
global
  nbthread 1
  maxconn 512
  log stdout format raw local0 info
defaults
  mode tcp
  log global
  option dontlognull
  timeout connect 10s
  timeout client 1h
  timeout server 1h
frontend middle
  bind {address}:{port}
  log-format "%ci:%cp|%bi:%bp|%B|%U|%ts"
  default_backend behind
backend behind
  server origin {upstream}
"""


def proxy_configuration(options: ProxyOptions, port: int) -> str:
    """Return the text: each connection of a client gets one to the server, at once, and their bytes are passed on."""
    return _FORM.format(address=options.address, port=port, upstream=options.upstream)


def carried(line: str) -> dict[str, Any] | None:
    """Return what a line of its log says of a connection that has ended; None where it is about something else."""
    parts = line.strip().split(SEPARATOR)
    if len(parts) != 5:
        return None
    client, own, down, up, state = parts
    return {"remote": client, "upstream_local": own, "bytes_down": int(down), "bytes_up": int(up), "state": state}
