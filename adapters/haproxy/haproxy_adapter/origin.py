"""The origin behind HAProxy, which has no files of its own: nginx of the same release of Debian, at a Unix socket."""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from longlook_adapter.debian import Packaged
from longlook_adapter.errors import AdapterError
from longlook_adapter.nginx import nginx_configuration
from longlook_adapter.supervise import ends_with

_PROGRAM = Packaged(Path(__file__).parents[1], "usr/sbin/nginx")
_LISTENS = "start worker process "
_START_WITHIN_S, _POLL_S = 20, 0.005
_LAST_CHARACTERS = 500  # of its log, quoted if it ends by itself
_CONNECTIONS = 2_048

_SITE = """\
  access_log off;
  log_not_found off;
  server {{
    listen "unix:{socket}";
    root "{www}";
  }}
"""


@contextmanager
def origin(www: str, folder: Path) -> Iterator[Path]:
    """Serve the files in HTTP/1.1 at a Unix socket, and yield its path.

    AdapterError if the origin does not start, or has ended by itself meanwhile.
    """
    socket, file, log = folder / "origin.sock", folder / "origin.conf", folder / "origin.log"
    site = _SITE.format(socket=socket, www=www)
    file.write_text(nginx_configuration(folder, site, log=f'"{log}"', connections=_CONNECTIONS))
    argv = (*_PROGRAM.argv, "-p", str(folder), "-c", str(file), "-e", str(log))
    prctl = ctypes.CDLL(None).prctl
    process = subprocess.Popen(
        argv,
        env={**os.environ, **_PROGRAM.env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
        preexec_fn=ends_with(os.getpid(), prctl, lambda: None),  # noqa: PLW1509 one thread
    )
    try:
        _await_start(process, log)
        yield socket
        _check(process, log)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _await_start(process: "subprocess.Popen[bytes]", log: Path) -> None:
    until_s = time.monotonic() + _START_WITHIN_S
    while _LISTENS not in _text(log):
        _check(process, log)
        if time.monotonic() > until_s:
            raise AdapterError(f"the origin did not start within {_START_WITHIN_S} s: {_text(log)[-_LAST_CHARACTERS:]}")
        time.sleep(_POLL_S)


def _check(process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Raise AdapterError if the origin has ended; it is not reaped, so that its number still means its group."""
    if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
        raise AdapterError(f"the origin ended by itself: {_text(log)[-_LAST_CHARACTERS:]}")


def _text(log: Path) -> str:
    return log.read_text(errors="replace") if log.exists() else ""
