"""nginx's configuration for one job."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from longlook_adapter.knobs import whole
from longlook_adapter.lines import endpoint
from longlook_adapter.options import Options

KNOBS: Mapping[str, Callable[[str], Any]] = {"max_incoming_streams": whole(1, 100_000)}
_STREAMS = 128  # nginx's own
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")

_FORM = """\
daemon off;
worker_processes 1;
{user}
pid {folder}/nginx.pid;
error_log stderr notice;
events {{ worker_connections 1024; }}
http {{
  types {{ text/html html; image/png png; }}
  default_type application/octet-stream;
  log_format connection escape=json '{{"address":"$remote_addr","port":"$remote_port","reused":"$ssl_session_reused"}}';
  access_log /proc/self/fd/1 connection if=$http2;
  {temporary}
  sendfile on;
  keepalive_requests 1000000000;
  http2_max_concurrent_streams {streams};
  server {{
    listen {endpoint} ssl http2;
    ssl_certificate "{certificate}";
    ssl_certificate_key "{key}";
    ssl_protocols TLSv1.3;
    root "{www}";
    add_header Cache-Control no-store always;
    if ($http2 = "") {{ return 444; }}
  }}
}}
"""


def configuration(options: Options, knobs: Mapping[str, Any], port: int, folder: Path) -> str:
    """Return the text. nginx always accepts HTTP/1.1 as well: such a request is closed without an answer (444)."""
    return _FORM.format(
        user="user root root;" if os.geteuid() == 0 else "",  # or its worker could not read the files
        folder=folder,
        temporary="\n  ".join(f'{name}_temp_path "{folder}/{name}";' for name in _TEMPORARY),
        streams=knobs.get("max_incoming_streams", _STREAMS),
        endpoint=endpoint((options.address, port)),
        certificate=options.certificate,
        key=options.key,
        www=options.www,
    )
