"""Jobs for the rogue stack, and what the machine looks like before and after."""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook.core import codec
from longlook.core.job import Content, ExpectedAnswer, Identity, Job, Program
from longlook.core.model import Endpoint, Link, Stage, Workload
from longlook.core.programs import link_program
from longlook.lab.topology import CLIENT, SERVER
from tests.data.trials import trial
from tests.support.processes import all_pids

PLUGINS = Path(__file__).parents[1] / "plugins"
ROGUE = PLUGINS / "programs" / "rogue.py"
DRIVER = Path(__file__).with_name("driver.py")
MS = 1_000_000
BODY_BYTES = 20_000
SYSCTLS = ("net/ipv4", "net/core")
OUR_DEVICES = tuple(
    f"device {name}" for name in (CLIENT.device, CLIENT.router_device, SERVER.device, SERVER.router_device, "ll-")
)

FAST = Link(
    (Stage("rate", {"rate_bps": 50_000_000, "queue_bytes": 100_000}), Stage("delay", {"delay_ns": MS})),
    (Stage("rate", {"rate_bps": 50_000_000, "queue_bytes": 100_000}), Stage("delay", {"delay_ns": MS})),
)


@dataclass(frozen=True)
class Home:
    """A place of a test's own for everything Longlook writes; its path marks every process of the test."""

    path: Path

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "LONGLOOK_CACHE": str(self.path / "cache"),
            "TMPDIR": str(self.path / "tmp"),
            "LONGLOOK_PLUGINS": str(PLUGINS),
        }

    def processes(self) -> list[int]:
        """Every process with this home in its environment, but for this one."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    if str(self.path).encode() in (entry / "environ").read_bytes():
                        found.append(int(entry.name))
                except OSError:
                    continue
        return found

    def scratch(self) -> list[Path]:
        return [*(self.path / "tmp").iterdir(), *(self.path / "cache" / "state").glob("*")]

    def content(self) -> Content:
        root = self.path / "www"
        root.mkdir(exist_ok=True)
        bodies = {f"/{name}": hashlib.sha256(name.encode()).digest() * (BODY_BYTES // 32) for name in ("a", "b")}
        for path, body in bodies.items():
            (root / path[1:]).write_bytes(body)
        expected = {p: ExpectedAnswer(len(b), "sha256:" + hashlib.sha256(b).hexdigest()) for p, b in bodies.items()}
        return Content(str(root), (tuple(bodies),), expected)

    def job(
        self,
        name: str = "trial",
        server: Mapping[str, str] | None = None,
        client: Mapping[str, str] | None = None,
        client_stack: str = "rogue",
        folder: Path | None = None,
        timeout_s: float = 20.0,
        **changes: Any,
    ) -> Job:
        folder = folder or self.path / "run" / name
        folder.mkdir(parents=True)
        rogue = Program(str(ROGUE), "0" * 64)
        values = {
            "id": name,
            "link": FAST,
            "workload": Workload("files"),
            "protocol": "h2",
            "congestion_control": "cubic",
            "server": Endpoint("rogue", "0", server or {}),
            "client": Endpoint(client_stack, "0", client or {}),
            "timeout_s": timeout_s,
        }
        identity = Identity("www.example.test", "ca", "certificate", "key", "spki")
        programs = {"server": rogue, "client": rogue, "link": link_program()}
        return Job(trial(**{**values, **changes}), 1, str(folder), programs, self.content(), identity)

    def drive(
        self, *jobs: Job, prefix: tuple[str, ...] = (), engine: str = "live", **options: Any
    ) -> subprocess.Popen[bytes]:
        """Run jobs by an engine in a process of its own, which prints one line of JSON per result."""
        order = self.path / "order.json"
        order.write_text(json.dumps([codec.encode(job) for job in jobs]))
        command = [*prefix, sys.executable, str(DRIVER), str(order), engine]
        return subprocess.Popen(command, stdout=subprocess.PIPE, env=self.environment(), **options)


def results(driver: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
    """Everything the driver printed, once it has ended."""
    output, _ = driver.communicate(timeout=60)
    return [json.loads(line) for line in output.splitlines()]


def wait_until(condition: Callable[[], Any], what: str, within_s: float = 20) -> Any:
    """The first true value of a condition; what happens in other processes has no descriptor to wait on."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.01)
    raise AssertionError(f"not in {within_s:g} s: {what}")


def measuring(job: Job) -> bool:
    """Whether the server of a running trial has accepted its client."""
    log = Path(job.folder) / "server.jsonl"
    return log.exists() and '"connection"' in log.read_text()


@contextmanager
def held_network_namespaces(pids: list[int]) -> Iterator[set[int]]:
    """Hold the network namespaces that processes are in, this process's own excepted, and yield their inodes.

    A held namespace keeps its inode, which another run's namespace could otherwise get as soon as it is free.
    """
    own = Path("/proc/self/ns/net").stat().st_ino
    with ExitStack() as held:
        found = set()
        for pid in pids:
            with suppress(OSError):
                descriptor = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
                held.callback(os.close, descriptor)
                found.add(os.fstat(descriptor).st_ino)
        yield found - {own}


def in_use(namespaces: set[int]) -> set[int]:
    """Return those of these network namespaces that a process is in or that are mounted somewhere."""
    mounts = Path("/proc/self/mountinfo").read_text().split()
    found = {int(word[5:-1]) for word in mounts if word.startswith("net:[")}
    for pid in all_pids():
        with suppress(OSError):
            found.add(Path(f"/proc/{pid}/ns/net").stat().st_ino)
    return found & namespaces


def host_state() -> dict[str, str]:
    """Return what a laboratory must not change: the host's devices and its network settings."""
    state = {f"device {entry.name}": "" for entry in Path("/sys/class/net").iterdir()}
    state["routes"] = Path("/proc/net/route").read_text()
    for folder in SYSCTLS:
        for path in sorted((Path("/proc/sys") / folder).rglob("*")):
            with suppress(OSError):  # some are write-only
                state[str(path)] = path.read_text() if path.is_file() else ""
    return state


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str | None]:
    """Return what is gone or has another value, and the laboratory's own devices that are new.

    A new device of another name, and the settings that belong to it, are another program's.
    """
    changed = {key: after.get(key) for key, value in before.items() if after.get(key) != value}
    new = {key: value for key, value in after.items() if key not in before and key.startswith(OUR_DEVICES)}
    return {**changed, **new}
