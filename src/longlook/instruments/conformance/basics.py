"""The checks of every stack: transfers, connection states, lines, logs, and how it refuses what it does not support."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from longlook.core import (
    DURATION,
    EITHER,
    ConnectionState,
    Endpoint,
    Outcome,
    Stage,
    Workload,
    find_protocol,
    find_tree,
)
from longlook.instruments.conformance.checks import (
    Check,
    CheckFinding,
    CheckStatus,
    Want,
    comparing,
    inapplicable,
    verdict,
)
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.links import path, usual
from longlook.instruments.conformance.proofs.viewing import LIVE
from longlook.instruments.conformance.qlogs import count
from longlook.instruments.conformance.subject import Subject, stack_of

PAGE = Workload("page", {"objects": 120, "object_bytes": 3_000})
"""More images than most stacks allow requests at once."""
DOWNLOAD_BYTES = 5_000_000
DOWNLOAD = Workload("page", {"objects": 1, "object_bytes": DOWNLOAD_BYTES})
SMALL = Workload("page", {"objects": 3, "object_bytes": 10_000})
_SECOND = Workload("compete", {DURATION: 1.0})
_ECHO = Workload("echo", {"payload": "1200B, 1400B", "tries": 3, "interval_s": 1.0})
_NO_OBJECTS = "nothing asks for objects"
_OF_THE_CONTRACT = "an image is asked for what its contract has"
_CONNECTIONS = 3
_WARM_S, _IDLE_S = 0.2, 0.3
_KNOWN = ("h3", "h2", EITHER.name)


_PAGE = Workload("page", {"objects": 3, "object_bytes": 10_000})
_OPEN, _BLOCKED = "open", "UDP blocked"
_PORT = 443
"""The port on which the laboratory's servers listen."""


def basics(subject: Subject) -> Iterator[Check]:
    """Yield every check except the proofs of knobs and the checks of a single process."""
    checks = _basics(subject)
    yield from map(_unless_unsupported, checks) if subject.stack.of_images else checks


def _unless_unsupported(check: Check) -> Check:
    """Return a check that does not apply if the program says that it does not support this: by its contract it may."""

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        if any(each.run.outcome is Outcome.UNSUPPORTED for each in seen.values()):
            return CheckFinding(CheckStatus.NOT_APPLICABLE, "it says by exit code 127 that it does not support this")
        return check.judge(seen)

    return replace(check, judge=judge)


def _basics(subject: Subject) -> Iterator[Check]:
    for role, protocol in subject.settings():
        yield page(subject, role, protocol)
        if protocol == EITHER.name:
            yield choice(subject, role)
        yield download(subject, role, protocol)
        yield upload(subject, role, protocol)
        yield from (state(subject, role, protocol, wanted) for wanted in ConnectionState)
        yield logs(subject, role, protocol)
        yield unknown_knob(subject, role, protocol)
        if role == "server":
            yield ready(subject, protocol)
        else:
            yield several(subject, protocol)
            yield waiting(subject, protocol)
            yield lines(subject, protocol)
    for role in subject.stack.end_roles:
        yield unspoken(subject, role)


def _want(subject: Subject, role: str, protocol: str, workload: Workload, **more: object) -> Want:
    made = {"link": usual(), "server": subject.server(role), "client": subject.client(role), **more}
    if role == "client" and subject.stack.of_images and workload.kind == "page":  # it asks for all files at once
        workload = Workload("download", workload.parameters)
    return Want(protocol=protocol, workload=workload, **made)  # type: ignore[arg-type]


def _least(protocol: str) -> Workload:
    """Return the smallest workload that shows that two endpoints communicate."""
    if find_protocol(protocol).echoes:
        return _ECHO
    if find_protocol(protocol).live:
        return LIVE
    return _SECOND if find_protocol(protocol).cross_traffic else SMALL


def _one(name: str, want: Want, judge: object) -> Check:
    return Check(name, {"trial": want}, lambda seen: judge(seen["trial"]))  # type: ignore[operator]


def page(subject: Subject, role: str, protocol: str) -> Check:
    """Check that all objects arrive with the right digests over the declared protocol, which the outcome decides."""

    def judge(seen: Seen) -> CheckFinding:
        objects = len(seen.events("client", "object") or [each for each in seen.load if each["event"] == "file"])
        return verdict(seen.ok, f"{objects} objects in {_took_s(seen):.2f} s" if seen.ok else seen.why)

    name = f"page over {protocol} ({role})"
    if not find_protocol(protocol).fetches:
        return inapplicable(name, _NO_OBJECTS)
    return _one(name, _want(subject, role, protocol, PAGE), judge)


def download(subject: Subject, role: str, protocol: str) -> Check:
    """Check a download of 5 MB at 20 Mbit/s."""

    def judge(seen: Seen) -> CheckFinding:
        if not seen.ok:
            return verdict(False, seen.why)
        took_s = _took_s(seen)
        return verdict(True, f"5 MB in {took_s:.2f} s, {DOWNLOAD_BYTES * 8e-6 / took_s:.1f} Mbit/s of 20")

    name = f"download over {protocol} ({role})"
    if not find_protocol(protocol).fetches:
        return inapplicable(name, _NO_OBJECTS)
    return _one(name, _want(subject, role, protocol, DOWNLOAD), judge)


def upload(subject: Subject, role: str, protocol: str) -> Check:
    """Check an upload of 5 MB at 20 Mbit/s, which both ends and the link must witness, as the outcome decides."""
    name = f"upload over {protocol} ({role})"
    if protocol not in subject.stack.uploads.get(role, ()):
        return inapplicable(name, "not declared")
    other = "client" if role == "server" else "server"
    peer = subject.other(role)
    if protocol not in stack_of(peer).uploads.get(other, ()):
        peer = subject.witness

    def judge(seen: Seen) -> CheckFinding:
        if not seen.ok:
            return verdict(False, seen.why)
        sent = seen.packets.of("client").payload_bytes.sum() * 1e-6
        return verdict(True, f"5 MB in {_took_s(seen):.2f} s, {sent:.2f} MB in packets of the client")

    workload = Workload("upload", {"object_bytes": DOWNLOAD_BYTES})
    return _one(name, _want(subject, role, protocol, workload, **{other: peer}), judge)


def _took_s(seen: Seen) -> float:
    objects = [line for line in seen.events("client", "object") if line.get("path") != "/prime"]
    objects = objects or [line for line in seen.load if line["event"] == "load"]
    first, last = min(line["t_start_ns"] for line in objects), max(line["t_end_ns"] for line in objects)
    return float(last - first) / 1e9


def state(subject: Subject, role: str, protocol: str, wanted: ConnectionState) -> Check:
    """Check that a declared state is proven by both endpoints' lines, and that an undeclared one is refused."""
    name = f"connection {wanted} over {protocol} ({role})"
    if subject.can(role, protocol, wanted):
        want = _want(subject, role, protocol, _least(protocol), connection=wanted)
        return _one(name, want, _reported_by_both if find_protocol(protocol).cross_traffic else _reported)
    if wanted in subject.stack.connections_of(subject.version, protocol):
        return inapplicable(name, f"{subject.other(role).stack} cannot")
    if role == "server" or subject.stack.of_images:
        return inapplicable(name, "not declared")  # only a client finds out whether a server gives tickets
    want = _want(subject, role, protocol, _least(protocol), connection=wanted, timeout_s=20.0)
    return _one(name, want, _refused)


def _reported(seen: Seen) -> CheckFinding:
    return verdict(seen.ok, _states(seen) if seen.ok else seen.why)


def _reported_by_both(seen: Seen) -> CheckFinding:
    """Demand lines of both endpoints: cross traffic may have no connection in a trial that is ok."""
    both = all(seen.events(role, "connection") for role in ("client", "server"))
    return verdict(seen.ok and both, _states(seen) if seen.ok else seen.why)


def _states(seen: Seen) -> str:
    states = []
    for role in ("client", "server"):
        found = [_state_of(line) for line in seen.events(role, "connection") if not line.get("primes")]
        states.append(f"{role} reports {found[-1] if found else 'nothing'}")
    return ", ".join(states)


def _state_of(line: Mapping[str, object]) -> str:
    return "0rtt" if line.get("used_0rtt") else "resumed" if line.get("resumed") else "cold"


def _refused(seen: Seen) -> CheckFinding:
    return verdict(seen.run.outcome is Outcome.UNSUPPORTED, seen.why)


def several(subject: Subject, protocol: str) -> Check:
    """Check that several connections, each from a socket of its own, fetch everything each."""
    name = f"several connections over {protocol} (client)"
    if not find_protocol(protocol).fetches:
        return inapplicable(name, _NO_OBJECTS)
    if not subject.stack.several_connections:
        return inapplicable(name, "the client opens only one connection")
    states = [state for state in ConnectionState if subject.can("client", protocol, state)]
    if not states:
        return inapplicable(name, f"{subject.other('client').stack} has none of its connection states")

    def judge(seen: Seen) -> CheckFinding:
        ports = {line.get("local") for line in seen.events("client", "connection") if not line.get("primes")}
        return verdict(seen.ok and len(ports) == _CONNECTIONS, f"{len(ports)} sockets" if seen.ok else seen.why)

    workload = Workload("download", {"object_bytes": 200_000, "objects": 2, "connections": _CONNECTIONS})
    return _one(name, _want(subject, "client", protocol, workload, connection=states[0]), judge)


def waiting(subject: Subject, protocol: str) -> Check:
    """Check that the client waits after the handshake and between phases, on one connection."""
    name = f"waits over {protocol} (client)"
    if not find_protocol(protocol).fetches:
        return inapplicable(name, _NO_OBJECTS)
    if not subject.stack.waits:
        return inapplicable(name, "the client never waits")
    states = [each for each in (ConnectionState.COLD, ConnectionState.RESUMED) if subject.can("client", protocol, each)]
    if not states:
        return inapplicable(name, f"{subject.other('client').stack} has none of its connection states")

    def judge(seen: Seen) -> CheckFinding:
        if not seen.ok:
            return verdict(False, seen.why)
        (connection,) = (line for line in seen.events("client", "connection") if not line.get("primes"))
        first, second = sorted(seen.events("client", "object"), key=lambda line: int(line["t_start_ns"]))
        warm_s = (first["t_start_ns"] - connection["t_handshake_ns"]) / 1e9
        idle_s = (second["t_start_ns"] - first["t_end_ns"]) / 1e9
        return verdict(warm_s >= _WARM_S and idle_s >= _IDLE_S, f"{warm_s:.3f} s warm, {idle_s:.3f} s idle")

    times = {"at_once": 1, "warm_s": _WARM_S, "idle_s": _IDLE_S}
    workload = Workload("download", {"object_bytes": 20_000, "objects": 2, **times})
    return _one(name, _want(subject, "client", protocol, workload, connection=states[0]), judge)


def ready(subject: Subject, protocol: str) -> Check:
    """Check the server's first line."""

    def judge(seen: Seen) -> CheckFinding:
        first = dict(next(iter(seen.lines["server"]), {}))
        wanted = {"event": "ready", "role": "server", "protocol": protocol}
        version = str(first.get("version"))
        tree = find_tree(subject.stack.name, subject.version)
        expected = subject.version if tree is None else tree.reported
        # A package of the system has no version that its program must state.
        versioned = version == expected or stack_of(subject.end).versions[0].released == ""
        holds = all(first.get(key) == value for key, value in wanted.items()) and versioned
        return verdict(holds and isinstance(first.get("port"), int), f"{first.get('event')}, version {version}")

    if subject.stack.of_images:
        return inapplicable(f"ready line over {protocol} (server)", _OF_THE_CONTRACT)
    return _one(f"ready line over {protocol} (server)", _want(subject, "server", protocol, _least(protocol)), judge)


def lines(subject: Subject, protocol: str) -> Check:
    """Check that the client prints one line for each object and one for each of its connections.

    If it chooses, it may have opened one of each protocol.
    """

    def judge(seen: Seen) -> CheckFinding:
        paths = Counter(line.get("path") for line in seen.events("client", "object"))
        often = [str(path) for path, times in paths.items() if times != 1]
        connections = len(seen.events("client", "connection"))
        most = 2 if protocol == EITHER.name else 1
        wanted = [len(paths)] if find_protocol(protocol).connection_per_request else [1, most]
        text = f"{len(paths)} objects, {connections} connection line" + ("s" if connections != 1 else "")
        return verdict(
            seen.ok and not often and connections in wanted, text + (f"; more than once: {often}" if often else "")
        )

    name = f"one line per object over {protocol} (client)"
    if not find_protocol(protocol).fetches:
        return inapplicable(name, _NO_OBJECTS)
    if subject.stack.of_images:
        return inapplicable(name, _OF_THE_CONTRACT)
    return _one(name, _want(subject, "client", protocol, SMALL), judge)


def logs(subject: Subject, role: str, protocol: str) -> Check:
    """Check that a stack that declares qlog writes it, and that its packets can be read."""
    name = f"qlog over {protocol} ({role})"
    quic = any(find_protocol(each).quic for each in find_protocol(protocol).spoken)
    if "qlog" not in subject.stack.log_formats or not quic:
        return inapplicable(name, "not declared" if quic else "qlog is for QUIC only")

    def judge(seen: Seen) -> CheckFinding:
        events = seen.qlogs[role]
        packets = count(events, "packet_sent") + count(events, "packet_received")
        text = f"{seen.logs[role]} files, {len(events)} events, {packets} of packets"
        return verdict(seen.ok and packets > 0, text if seen.ok else seen.why)

    return _one(name, _want(subject, role, protocol, _least(protocol), qlog=True), judge)


def unknown_knob(subject: Subject, role: str, protocol: str) -> Check:
    """Check that an unknown knob ends the program with exit code 127, and so the trial with `unsupported`."""
    knobs = {"no_such_knob": 1}
    ends: dict[str, object] = {
        role: Endpoint(subject.stack.name, subject.version, knobs),
        "timeout_s": 20.0,
    }
    want = _want(subject, role, protocol, _least(protocol), **ends)
    name = f"unknown knob over {protocol} ({role})"
    return inapplicable(name, _OF_THE_CONTRACT) if subject.stack.of_images else _one(name, want, _refused)


def unspoken(subject: Subject, role: str) -> Check:
    """Check that a protocol that it does not speak ends the program in the same way."""
    name = f"unspoken protocol ({role})"
    if subject.stack.of_images:
        return inapplicable(name, _OF_THE_CONTRACT)
    missing = [protocol for protocol in _KNOWN if not subject.stack.speaks(subject.version, protocol)]
    other = subject.witness if role == "client" else subject.client("server")
    if role == "client" and not missing:
        return inapplicable(name, "it speaks every protocol that the servers here speak")
    ends = {"server": subject.end, "client": other} if role == "server" else {"server": other, "client": subject.end}
    want = _want(subject, role, missing[0] if missing else "http/0.9", SMALL, link=path(20, 0.04), **ends)
    return _one(name, want, _refused)


def choice(subject: Subject, role: str) -> Check:
    """Read what carried each object of a page: on an open path QUIC, and TCP if no QUIC packet arrives.

    A browser begins with TCP; it gets a server that names HTTP/3, and the memory of it. On an open path it may ask for
    a part over TCP, which it raced.
    """
    server, client = subject.server(role), subject.client(role)
    if "memory" in stack_of(client).knobs_of(client.version, "client"):
        server = Endpoint(server.stack, server.version, {"alt_svc_port": _PORT})
        client = Endpoint(client.stack, client.version, {"memory": "alt-svc"})
    block = (Stage("block", {"protocol": "udp"}),)
    links = {_OPEN: path(20, 0.04), _BLOCKED: path(20, 0.04, up=block, down=block)}

    def judge(carried: Mapping[str, Counter[str]]) -> CheckFinding:
        text = "; ".join(f"{name}: {_words(counts)}" for name, counts in carried.items())
        return verdict(carried[_OPEN]["h3"] > 0 and set(carried[_BLOCKED]) == {"h2"}, text)

    wants = {name: Want(EITHER.name, link, _PAGE, server, client) for name, link in links.items()}
    return Check(f"what carried each object over {EITHER.name} ({role})", wants, comparing(_carried, judge))


def _carried(seen: Seen) -> Counter[str]:
    return Counter(str(line.get("protocol")) for line in seen.events("client", "object"))


def _words(counts: Counter[str]) -> str:
    return ", ".join(f"{times} objects over {protocol}" for protocol, times in sorted(counts.items()))
