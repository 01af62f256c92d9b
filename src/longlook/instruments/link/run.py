"""One run of `longlook link`: a command behind an emulated link, from the first namespace to the last clean-up."""

import math
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

from longlook.core import Link, LonglookError, MachineError
from longlook.instruments.link.watch import Signals, Watch
from longlook.lab import SERVER, EndpointNamespace, Namespace, datapath, launch, system
from longlook.network import link_text
from longlook.outside import (
    MARKER,
    TAKEN_BY_OUTER_LINKS,
    LinkRecord,
    Outside,
    Reaper,
    client_end,
    end_all,
    ends_of,
    free_subnet,
    lead_out,
    open_record,
    outer_subnets,
    rootless,
)

_SERVER_READY_WITHIN_S = 10.0
_POLL_S = 0.01
_LISTENING = "0A"  # in /proc/net/tcp


class CommandError(LonglookError):
    """The command cannot be run; `exit_code` is as in a shell: 127 not found, 126 not executable."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def start_command(
    argv: Sequence[str], namespace: Namespace, env: Mapping[str, str], resolver: Path | None
) -> "subprocess.Popen[bytes]":
    """Start a command in a namespace, in this process's session and group, with its terminal and standard streams.

    In the same group, Ctrl-C and Ctrl-Z reach it as without a link; a shell makes its own groups.
    """
    try:
        return subprocess.Popen(
            list(argv),
            env=dict(env),
            close_fds=False,  # what a shell opened for the command, such as <(…), stays open; ours close by themselves
            preexec_fn=_entering(namespace, resolver),  # noqa: PLW1509 (there are no threads)
        )
    except FileNotFoundError as error:
        raise CommandError(f"{argv[0]}: command not found", 127) from error
    except OSError as error:
        raise CommandError(f"{argv[0]}: {error.strerror}", 126) from error
    except subprocess.SubprocessError as error:
        raise MachineError(f"the command cannot be moved behind the link: {error}", "longlook doctor") from error


def start_server(command: str, namespace: Namespace, env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Start a shell's command line in a namespace, in a session of its own; its output goes to standard error."""
    return subprocess.Popen(
        ["/bin/sh", "-c", command],
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=2,
        start_new_session=True,
        preexec_fn=_entering(namespace, None),  # noqa: PLW1509 (there are no threads)
    )


def wait_until_listening(server: "subprocess.Popen[bytes]") -> None:
    """Return once a program in the server's namespace listens on TCP or has a UDP port; LonglookError if none does."""
    deadline = time.monotonic() + _SERVER_READY_WITHIN_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise LonglookError(f"the server ended with exit code {server.returncode} before the command began")
        if _listens(server.pid):
            return
        time.sleep(_POLL_S)
    raise LonglookError(
        f"the server listens on no port after {_SERVER_READY_WITHIN_S:.0f} s",
        "--server 'COMMAND' must open a TCP or UDP port of 0.0.0.0 or of $LONGLOOK_LINK_SERVER",
    )


def _entering(namespace: Namespace, resolver: Path | None) -> Callable[[], None]:
    def enter() -> None:
        system.set_namespace(namespace.descriptor, system.CLONE_NEWNET)
        if resolver is not None:
            system.unshare(system.CLONE_NEWNS)
            system.mount("none", "/", None, system.MS_REC | system.MS_SLAVE)
            system.mount(str(resolver), os.path.realpath("/etc/resolv.conf"), None, system.MS_BIND)

    return enter


def _listens(pid: int) -> bool:
    with suppress(OSError):
        for protocol, states in (("tcp", (_LISTENING,)), ("udp", ("07", "01"))):
            for line in Path(f"/proc/{pid}/net/{protocol}").read_text().splitlines()[1:]:
                if line.split()[3] in states:
                    return True
    return False


CLIENT_ADDRESS, OUTSIDE_ADDRESS, SERVER_ADDRESS = (
    "LONGLOOK_LINK_CLIENT",
    "LONGLOOK_LINK_OUTSIDE",
    "LONGLOOK_LINK_SERVER",
)
_SERVER, _SERVERS, _EVERY_SERVER = (
    "the server",
    "this machine's servers, but not those of 127.0.0.1,",
    "this machine's servers",
)
_LINGER_NS = 50_000_000
_GRACE_S = 3.0  # for programs after SIGTERM


_CONFIGURATION = Path("/etc/resolv.conf")
_UPSTREAM = Path("/run/systemd/resolve/resolv.conf")
"""The file in which systemd-resolved lists its own servers."""


@dataclass(frozen=True)
class LinkRequest:
    """A run of `longlook link`. `server`: a command line for the far side; `isolated`: no way out; `log`: its file."""

    link: Link
    seed: int
    program: str  # longlook-link
    command: tuple[str, ...]
    isolated: bool = False
    server: str | None = None
    log: Path | None = None


@dataclass
class Ended:
    """The result of a run. `error`: the reason if the link itself ended before the command did."""

    exit_code: int = 1
    duration_s: float = 0.0
    summary: Mapping[str, Any] = field(default_factory=dict)
    error: LonglookError | None = None


@dataclass(frozen=True)
class Opened:
    """An open link, for its user: the addresses of both ends, and notes on changes to the machine."""

    client: str
    far: str
    what: str  # is at the far end
    notes: tuple[str, ...]


def run_link(request: LinkRequest, opened: Callable[[Opened], None], take_log: Callable[[bytes], None]) -> Ended:
    """Run a command behind a link. `opened` is called before it starts; `take_log` gets the packet log in pieces.

    Raise LonglookError if the link or the command cannot be started. Signals during the set-up end it as
    KeyboardInterrupt. Once the command runs, its end decides, and Ctrl-C goes to the command alone.
    """
    with ExitStack() as undo:
        last = undo.enter_context(ExitStack())
        host = _become_able(request, undo)
        record = open_record()
        undo.callback(record.release)
        if user_network := host.network:
            record.note_helper(user_network)
        router = undo.enter_context(Namespace())
        far: EndpointNamespace
        if request.isolated:
            client, far = _isolated_sides(router, undo)
            outside = None
        else:
            outside = undo.enter_context(Outside(record, router, datapath(), host.address))
            client, far = outside.client, outside.outer
        inside = [client.namespace, *([far.namespace] if request.isolated else [])]
        record.inside = tuple(_number(namespace) for namespace in inside)
        record.write()
        last.callback(Reaper(record, [namespace.descriptor for namespace in inside]).dismiss)
        watch = undo.enter_context(_start_router(request, record, router, client, far, take_log))
        watch.wait_until_ready()
        if outside is not None:
            outside.open_ways()
        notes = [*host.notes, *(outside.notes if outside is not None else [])]
        resolver, remark = (None, "") if request.isolated else working_configuration()
        notes += [remark] if remark else []
        what = _SERVER if request.isolated else _EVERY_SERVER if host.network else _SERVERS
        opened(Opened(client.end.address, far.end.address, what, tuple(notes)))
        return _run_command(request, record, client, far, watch, resolver, undo)


@dataclass(frozen=True)
class _Host:
    """The surroundings that a user-space network gives: the host's address, and the program's process number."""

    address: IPv4Address | None = None
    network: int = 0
    notes: tuple[str, ...] = ()


def _become_able(request: LinkRequest, undo: ExitStack) -> _Host:
    if rootless.may_change_network():
        return _Host()
    if request.isolated:
        rootless.enter_own_namespaces()
        return _Host()
    network = rootless.UserNetwork()
    address = network.enter()
    undo.callback(network.close)
    note = f"the way out is {network.name}, a program of this user: it has delays and limits of its own"
    return _Host(address, network.process.pid if network.process else 0, (note,))


def _isolated_sides(router: Namespace, undo: ExitStack) -> tuple[EndpointNamespace, EndpointNamespace]:
    subnet = free_subnet(outer_subnets())
    far_address, client_address = ends_of(subnet)
    end = replace(
        SERVER, device="link0", address=str(far_address), peer_address=str(client_address), subnet=str(subnet)
    )
    far = undo.enter_context(EndpointNamespace(end, router, datapath()))
    client = undo.enter_context(EndpointNamespace(client_end(subnet), router, datapath()))
    lead_out(client, far_address)  # so that a link inside this one finds a way
    return client, far


def _start_router(
    request: LinkRequest,
    record: LinkRecord,
    router: Namespace,
    client: EndpointNamespace,
    far: EndpointNamespace,
    take_log: Callable[[bytes], None],
) -> Watch:
    config = record.folder / "link.json"
    config.write_text(link_text(request.link, request.seed, _LINGER_NS))
    pipe = -1
    log = request.log.absolute() if request.log else record.folder / "log"
    if request.log is None:
        os.mkfifo(log)
        pipe = os.open(log, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    argv = [request.program, "run", "--config", str(config), "--log", str(log)]
    process = launch(argv, router, client, far, dict(os.environ), record.folder)
    record.note_helper(process.pid)
    return Watch(process, pipe, take_log)


def _run_command(
    request: LinkRequest,
    record: LinkRecord,
    client: EndpointNamespace,
    far: EndpointNamespace,
    watch: Watch,
    resolver: Path | None,
    undo: ExitStack,
) -> Ended:
    env = {**os.environ, **_addresses(request, record, client, far)}
    if request.server is not None:
        server = start_server(request.server, far.namespace, env)
        undo.callback(server.wait)
        undo.callback(end_all, _number(far.namespace), _grace_s())
        wait_until_listening(server)
    inside = _number(client.namespace)
    ended = Ended()
    with Signals() as signals:
        began = time.monotonic()
        command = start_command(request.command, client.namespace, env, resolver)
        watch.command(command, signals)
        if not watch.command_ended:
            end_all(inside, _grace_s())
        code = command.wait()
        ended.duration_s = time.monotonic() - began
        ended.exit_code = code if code >= 0 else 128 - code
        end_all(inside, _grace_s())  # processes that the command left running
        ended.error = watch.failure()
        ended.summary = watch.finish()
        ended.error = ended.error or watch.failure()
    return ended


def _grace_s() -> float:
    """Return the time after SIGTERM: half of it inside a link, so that an inner link has time after its command."""
    return math.ldexp(_GRACE_S, -len(outer_subnets()))


def _number(namespace: Namespace) -> int:
    return os.fstat(namespace.descriptor).st_ino


def _addresses(
    request: LinkRequest, record: LinkRecord, client: EndpointNamespace, far: EndpointNamespace
) -> dict[str, str]:
    taken = [*outer_subnets(), IPv4Network(client.end.subnet)]
    return {
        MARKER: record.marker,
        CLIENT_ADDRESS: client.end.address,
        SERVER_ADDRESS if request.isolated else OUTSIDE_ADDRESS: far.end.address,
        TAKEN_BY_OUTER_LINKS: ",".join(map(str, taken)),
    }


def working_configuration(configuration: Path = _CONFIGURATION, upstream: Path = _UPSTREAM) -> tuple[Path | None, str]:
    """Return the file to use as resolv.conf (None: no other), and a remark if names will not be found (else "")."""
    if not _only_loopback(configuration):
        return None, ""
    if upstream.exists() and not _only_loopback(upstream):
        return upstream, ""
    return None, f"names are not resolved behind the link: {configuration} names only loopback servers"


def _only_loopback(configuration: Path) -> bool:
    try:
        lines = [line.split() for line in configuration.read_text(errors="replace").splitlines()]
    except OSError:
        return False
    servers = [words[1] for words in lines if len(words) > 1 and words[0] == "nameserver"]
    return not servers or all(server.startswith("127.") or server == "::1" for server in servers)
