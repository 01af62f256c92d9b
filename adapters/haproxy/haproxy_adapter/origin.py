"""The origin behind HAProxy, which has no files of its own: nginx of the same release of Debian, at a Unix socket."""

import ctypes
import os
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from longlook_adapter.debian import Packaged
from longlook_adapter.errors import AdapterError

_PROGRAM = Packaged(Path(__file__).parents[1], "usr/sbin/nginx")
_LISTENS = b"start worker process "
_START_WITHIN_MS = 20_000
_PR_SET_PDEATHSIG = 1
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")

_FORM = """\
daemon off;
worker_processes 1;
{user}
pid {folder}/nginx.pid;
error_log stderr notice;
events {{ worker_connections 2048; }}
http {{
  types {{ text/html html; image/png png; }}
  default_type application/octet-stream;
  access_log off;
  {temporary}
  sendfile on;
  keepalive_requests 1000000000;
  server {{
    listen "unix:{socket}";
    root "{www}";
  }}
}}
"""


@contextmanager
def origin(www: str, folder: Path) -> Iterator[Path]:
    """Serve the files in HTTP/1.1 at a Unix socket, and yield its path; AdapterError if the origin does not start."""
    socket, file = folder / "origin.sock", folder / "origin.conf"
    file.write_text(
        _FORM.format(
            user="user root root;" if os.geteuid() == 0 else "",
            folder=folder,
            temporary="\n  ".join(f'{name}_temp_path "{folder}/{name}";' for name in _TEMPORARY),
            socket=socket,
            www=www,
        )
    )
    argv = (*_PROGRAM.argv, "-p", str(folder), "-c", str(file), "-e", "stderr")
    prctl = ctypes.CDLL(None).prctl
    with subprocess.Popen(
        argv,
        env={**os.environ, **_PROGRAM.env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        process_group=0,
        preexec_fn=lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0),  # noqa: PLW1509 one thread
    ) as process:
        try:
            _await_start(process)
            yield socket
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def _await_start(process: "subprocess.Popen[bytes]") -> None:
    log = b""
    if process.stderr is None:
        raise AssertionError("it is a pipe")
    while _LISTENS not in log:
        readable, _, _ = select.select([process.stderr], [], [], _START_WITHIN_MS / 1000)
        data = os.read(process.stderr.fileno(), 1 << 16) if readable else b""
        if not data:
            raise AdapterError(f"the origin did not start: {log.decode(errors='replace').strip()}")
        log += data
