"""A machine of its own for `longlook link`: a network namespace that stands for the caller's, with servers in it."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from longlook.lab.linux import system
from longlook.lab.linux.namespace import Namespace
from longlook.outside import inhabitants
from tests.support.processes import all_pids, command_line, parent_of

LONGLOOK = str(Path(sys.executable).parent / "longlook")
PYTHON = sys.executable
SERVE = [PYTHON, "-m", "http.server", "--bind", "0.0.0.0", "8000"]

CONNECT_MS = (
    "import os, socket, sys, time\n"
    "address = (sys.argv[1] if len(sys.argv) > 1 else os.environ['LONGLOOK_LINK_OUTSIDE'], 8000)\n"
    "times = []\n"
    "for _ in range(3):\n"
    "    began = time.monotonic(); socket.create_connection(address, 10).close()\n"
    "    times.append(1e3 * (time.monotonic() - began))\n"
    "print(min(times))\n"
)
FETCH = (
    "import os, sys, time, urllib.request\n"
    "host = sys.argv[2] if len(sys.argv) > 2 else os.environ['LONGLOOK_LINK_OUTSIDE']\n"
    "began = time.monotonic()\n"
    "size = len(urllib.request.urlopen(f'http://{host}:8000/{sys.argv[1]}', timeout=30).read())\n"
    "print(size, time.monotonic() - began)\n"
)


class LinkHost:
    """The namespace, and how to start things in it."""

    def __init__(self, namespace: Namespace, folder: Path) -> None:
        self.namespace = namespace
        self.folder = folder
        self.cache = folder / "cache"
        self.env = {**os.environ, "LONGLOOK_CACHE": str(self.cache), "TMPDIR": str(folder), "SHELL": "/bin/sh"}

    def link(self, *arguments: str, **more: object) -> "subprocess.CompletedProcess[str]":
        """Run `longlook link` to its end."""
        process = self.start(LONGLOOK, "link", *arguments)
        try:
            out, err = process.communicate(timeout=40)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def start(self, *argv: str, cwd: Path | None = None) -> "subprocess.Popen[str]":
        """Start a program here, in a process group of its own."""
        return subprocess.Popen(
            argv,
            env=self.env,
            cwd=cwd or self.folder,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=self._enter,  # noqa: PLW1509
        )

    @contextmanager
    def serving(self, folder: Path) -> Iterator[None]:
        """An HTTP server on port 8000 of all addresses."""
        server = self.start(*SERVE, cwd=folder)
        try:
            wait_for(self._listens)
            yield
        finally:
            server.kill()
            server.communicate()

    def terminal(self, *argv: str) -> "Terminal":
        """Start a program here, as the leader of a session on a terminal."""
        pid, descriptor = pty.fork()
        if pid == 0:
            try:
                self._enter()
                os.chdir(self.folder)
                os.execve(argv[0], list(argv), self.env)
            finally:
                os._exit(99)
        return Terminal(pid, descriptor)

    def left_behind(self) -> dict[str, object]:
        """Whatever a link may leave, by kind; nothing of it after a link has ended."""
        with self.namespace.inside():
            devices = [
                line.split(":")[0].strip() for line in Path("/proc/thread-self/net/dev").read_text().splitlines()
            ]
            tables = _tables()
        found = {
            "devices": [name for name in devices if name.startswith("ll-")],
            "tables": tables,
            "records": [path.name for path in (self.cache / "state" / "links").glob("*.json")],
            "scratch": [path.name for path in self.folder.glob("longlook-link-*")],
            "processes": self._processes(),
        }
        return {kind: what for kind, what in found.items() if what}

    def _processes(self) -> list[str]:
        """Command lines of everything that carries this host's cache in its environment."""
        mark = f"LONGLOOK_CACHE={self.cache}".encode()
        found = []
        for name in os.listdir("/proc"):  # noqa: PTH208
            if name.isdigit():
                with suppress(OSError):
                    if mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                        line = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                        if "http.server" not in line:
                            found.append(line)
        return found

    def _listens(self) -> bool:
        with self.namespace.inside():
            return ":1F40 " in Path("/proc/thread-self/net/tcp").read_text()

    def _enter(self) -> None:
        system.set_namespace(self.namespace.descriptor, system.CLONE_NEWNET)


class Terminal:
    """The other end of a program's terminal."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid = pid
        self.descriptor = descriptor
        self.seen = ""

    def type(self, text: str) -> None:
        """Keys."""
        os.write(self.descriptor, text.encode())

    def expect(self, text: str, within_s: float = 15.0) -> None:
        """Read until a text has appeared since the last one that was expected."""
        deadline = time.monotonic() + within_s
        while text not in self.seen:
            left_s = deadline - time.monotonic()
            assert left_s > 0, f"no {text!r} in {self.seen!r}"
            if select.select([self.descriptor], [], [], left_s)[0]:
                try:
                    self.seen += os.read(self.descriptor, 4096).decode(errors="replace")
                except OSError:  # nobody holds the terminal any more
                    assert text in self.seen, f"no {text!r} in {self.seen!r}"
        self.seen = self.seen.partition(text)[2]

    def wait(self) -> int:
        """The program's exit code, or the negated number of its signal."""
        deadline = time.monotonic() + 15.0
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.descriptor)
                return os.waitstatus_to_exitcode(status)
            with suppress(OSError):
                if select.select([self.descriptor], [], [], 0.02)[0]:
                    self.seen += os.read(self.descriptor, 4096).decode(errors="replace")
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError(f"it does not end: {self.seen!r}")


def wait_for(condition: Callable[[], object], within_s: float = 10.0) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it does not become so"
        time.sleep(0.02)


def _tables() -> Sequence[str]:
    from longlook.lab.linux.netlink import open_nftables

    nft = open_nftables(2)
    try:
        return [table.get_attr("NFTA_TABLE_NAME") for table in nft.get_tables()]
    finally:
        nft.close()


def links(host: LinkHost) -> list[dict[str, object]]:
    return [json.loads(path.read_text()) for path in (host.cache / "state" / "links").glob("*.json")]


def wait_until_open(host: LinkHost) -> dict[str, object]:
    """The record of the one link, once its command runs."""

    def is_open() -> bool:
        return any(record["inside"] and inhabitants(record["inside"][0]) for record in links(host))  # type: ignore[index]

    wait_for(is_open)
    return links(host)[0]


def reaper_of(pid: int) -> int:
    """The child that is not another program."""
    (found,) = [each for each in all_pids() if parent_of(each) == pid and command_line(each) == command_line(pid)]
    return found
