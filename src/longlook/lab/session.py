"""Session clients: started once and kept between trials, each in a client namespace of its own that lasts as long."""

from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from longlook.core import Capture, Identity, Program, Stack, file_digest
from longlook.lab.addresses import IPV4, AddressPlan
from longlook.lab.cpu_limit import Slow, SlowSide
from longlook.lab.environment import Environment
from longlook.lab.linux.namespace import Namespace
from longlook.lab.process import Process, start, stop
from longlook.lab.remote_client_routes import WayIn, namespace_outside
from longlook.lab.sandbox import Sandbox
from longlook.lab.timing import unix_minus_monotonic_ns
from longlook.lab.topology import End, EndpointNamespace, client_of


@dataclass
class ClientSession:
    """A session client with its side of the network. `ready` once it has printed its ready line."""

    process: Process
    router: Namespace
    side: EndpointNamespace
    folder: Path  # its scratch folder: traces of its connections are somewhere in it
    stderr: Path
    certificate: str  # the digest of the server's, if it can have only one
    keylog: Path | None
    netlogs: Path  # where a browser puts its netlogs
    capture: Capture
    remote: bool = False  # the client is another machine, and the process here only drives it
    ready: bool = False
    clock_ns: int = field(default_factory=unix_minus_monotonic_ns)  # when it was started


Key = tuple[str, str, str, Capture, Slow | None, int]


class Sessions:
    """All session clients of a laboratory.

    Trials share a client if stack, program, authority, captured traces, share of a CPU and version of IP agree, and the
    server's certificate, if the client can have only one. `outside` is a descriptor of the network namespace that the
    laboratory was started in, for clients on other machines; `outlets` a folder for their standard error.
    """

    def __init__(
        self, environment: Environment, sandbox: Sandbox, outlets: Path, path: str, outside: int | None = None
    ) -> None:
        self._environment, self._sandbox, self._outlets = environment, sandbox, outlets
        self._path, self._outside = path, outside
        self._open: dict[Key, ClientSession] = {}
        self._started = 0

    def get(
        self,
        stack: Stack,
        program: Program,
        identity: Identity,
        *,
        capture: Capture,
        slow: Slow | None = None,
        addresses: AddressPlan = IPV4,
    ) -> ClientSession:
        """Return the running client, or a new one that is not ready yet."""
        capture = replace(capture, tcp=False, cpu=False)  # recorded outside of the client
        key = (stack.name, program.path, identity.spki_sha256, capture, slow, addresses.version)
        certificate = file_digest(Path(identity.certificate)) if stack.one_certificate else ""
        session = self._open.get(key)
        if session is not None:
            if session.certificate == certificate and not session.process.has_ended():
                return session
            self.drop(session)
        self._open[key] = session = self._start(
            stack, program, identity, certificate, capture=capture, slow=slow, end=client_of(addresses)
        )
        return session

    def drop(self, session: ClientSession) -> None:
        """End a client that can no longer be trusted; the next trial that needs one starts another."""
        self._open = {key: other for key, other in self._open.items() if other is not session}
        stop(session.process)
        session.process.close()
        session.side.close()
        session.router.close()

    def processes(self) -> list[Process]:
        """Return the processes of all sessions."""
        return [session.process for session in self._open.values()]

    def namespaces(self) -> list[Namespace]:
        """Return the client namespaces of all sessions: whatever runs in one belongs to its client."""
        return [namespace for session in self._open.values() for namespace in session.side.namespaces()]

    def close(self) -> None:
        """End all clients."""
        for session in list(self._open.values()):
            self.drop(session)

    def _start(
        self,
        stack: Stack,
        program: Program,
        identity: Identity,
        certificate: str,
        *,
        capture: Capture,
        slow: Slow | None,
        end: End,
    ) -> ClientSession:
        if stack.session_command is None:
            raise ValueError(f"{stack.name} has no session client")
        self._started += 1
        folder = self._environment.scratch / f"session-{self._started}"
        folder.mkdir()
        keys = folder / "keys.log" if capture.keylog else None
        netlogs, qlogs = folder / "netlog", folder / "qlog"
        own = {"HOME": str(folder), "TMPDIR": str(folder), **({"SSLKEYLOGFILE": str(keys)} if keys else {})}
        for wanted, name, place in ((capture.netlog, "NETLOGDIR", netlogs), (capture.qlog, "QLOGDIR", qlogs)):
            if wanted:
                place.mkdir()
                own[name] = str(place)
        made = [place for place in (folder, netlogs, qlogs) if place.exists()]
        needed = (program.path, identity.ca, identity.certificate)
        stderr = self._outlets / f"{folder.name}.stderr"
        command = stack.session_command(program, identity)
        with ExitStack() as undo:
            router = undo.enter_context(Namespace())
            side = undo.enter_context(self._side(stack, router, slow, end))
            with side.quota.inside() if side.quota else nullcontext():
                process = start(
                    "client",
                    (*command.argv, *_address(end)),
                    side.outside if isinstance(side, WayIn) else side.namespace,
                    self._environment.variables(own, command.env),
                    stdout_log=None,
                    stderr_log=stderr,
                    with_stdin=True,
                    confinement=self._sandbox.of_session(folder.name, needed, made),
                )
            undo.pop_all()
        return ClientSession(process, router, side, folder, stderr, certificate, keys, netlogs, capture, stack.remote)

    def _side(self, stack: Stack, router: Namespace, slow: Slow | None, end: End) -> EndpointNamespace:
        """Return the client's side; where the client is another machine, the way from there."""
        if stack.remote:
            return WayIn(router, self._path, namespace_outside(self._outside))
        if slow is not None:
            return SlowSide(end, router, self._path, slow, self._environment, f"session-{self._started}")
        return EndpointNamespace(end, router, self._path)


def _address(end: End) -> tuple[str, ...]:
    """Return the argument that names a server which is not at its usual address (adapters/CONTRACT.md)."""
    return () if end.peer_address == IPV4.server else ("--address", end.peer_address)
