"""The parts of nginx's configuration that do not depend on what it serves."""

import os
from pathlib import Path

_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
_FORM = """\
daemon off;
worker_processes 1;
{user}
pid "{folder}/nginx.pid";
error_log {log} notice;
events {{ worker_connections {connections}; }}
http {{
  types {{ text/html html; image/png png; }}
  default_type application/octet-stream;
  {temporary}
  sendfile on;
  keepalive_requests 1000000000;
{site}}}
"""


def nginx_configuration(folder: Path, site: str, *, log: str, connections: int) -> str:
    """Return the text: one worker, with its own files in a folder.

    `site` are the lines of the block `http` beside these, `log` is where errors go, as nginx writes it.
    """
    return _FORM.format(
        user="user root root;" if os.geteuid() == 0 else "",  # or its worker could not read the files
        folder=folder,
        log=log,
        connections=connections,
        temporary="\n  ".join(f'{name}_temp_path "{folder}/{name}";' for name in _TEMPORARY),
        site=site,
    )
