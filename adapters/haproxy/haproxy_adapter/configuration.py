"""HAProxy's configuration for one job, and the meaning of its log."""

from collections.abc import Callable, Mapping
from typing import Any

from longlook_adapter.knobs import truth, whole
from longlook_adapter.options import ProxyOptions

KNOBS: Mapping[str, Callable[[str], Any]] = {"buffer": whole(4096, 1 << 20), "splice": truth}
_BUFFER_BYTES = 16_384  # HAProxy's own
SEPARATOR = "|"

_FORM = """\
global
  nbthread 1
  maxconn 512
  tune.bufsize {buffer}
  log stdout format raw local0 info
defaults
  mode tcp
  log global
  option dontlognull
{splice}  timeout connect 10s
  timeout client 1h
  timeout server 1h
frontend middle
  bind {address}:{port}
  log-format "%ci:%cp|%bi:%bp|%B|%U|%ts"
  default_backend behind
backend behind
  server origin {upstream}
"""


def configuration(options: ProxyOptions, knobs: Mapping[str, Any], port: int) -> str:
    """Return the text: each connection of a client gets one to the server, at once, and their bytes are passed on."""
    return _FORM.format(
        buffer=knobs.get("buffer", _BUFFER_BYTES),
        splice="  option splice-auto\n" if knobs.get("splice") else "",
        address=options.address,
        port=port,
        upstream=options.upstream,
    )


def carried(line: str) -> dict[str, Any] | None:
    """Return what a line of its log says of a connection that has ended; None where it is about something else."""
    parts = line.strip().split(SEPARATOR)
    if len(parts) != 5:
        return None
    client, own, down, up, state = parts
    return {"remote": client, "upstream_local": own, "bytes_down": int(down), "bytes_up": int(up), "state": state}
