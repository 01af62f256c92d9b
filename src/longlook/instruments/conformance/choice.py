"""The check of `h3-or-h2`: both protocols of a server carry a page, and a client takes the one that works."""

from collections import Counter
from collections.abc import Mapping

from longlook.core.model import Endpoint, Stage, Workload
from longlook.core.protocol import EITHER
from longlook.instruments.conformance.checks import Check, CheckFinding, Want, verdict
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.links import path
from longlook.instruments.conformance.subject import Subject, stack_of

_PAGE = Workload("page", {"objects": 3, "object_bytes": 10_000})
_OPEN, _BLOCKED = "open", "UDP blocked"
_PORT = 443
"""Where the laboratory's servers listen."""


def choice(subject: Subject, role: str) -> Check:
    """Read what carried each object of a page: on an open path QUIC, and TCP where no QUIC packet arrives.

    A browser begins with TCP; it gets a server that names HTTP/3, and the memory of it. On an open path it may ask for
    a part over TCP, which it raced.
    """
    server, client = subject.server(role), subject.client(role)
    if "memory" in stack_of(client).knobs_of(client.version, "client"):
        server = Endpoint(server.stack, server.version, {"alt_svc_port": _PORT})
        client = Endpoint(client.stack, client.version, {"memory": "alt-svc"})
    block = (Stage("block", {"protocol": "udp"}),)
    links = {_OPEN: path(20, 0.04), _BLOCKED: path(20, 0.04, up=block, down=block)}

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        if failed := [f"{name}: {found.why}" for name, found in seen.items() if not found.ok]:
            return verdict(False, "; ".join(failed))
        carried = {name: _carried(found) for name, found in seen.items()}
        text = "; ".join(f"{name}: {_words(counts)}" for name, counts in carried.items())
        return verdict(carried[_OPEN]["h3"] > 0 and set(carried[_BLOCKED]) == {"h2"}, text)

    wants = {name: Want(EITHER.name, link, _PAGE, server, client) for name, link in links.items()}
    return Check(f"what carried each object over {EITHER.name} ({role})", wants, judge)


def _carried(seen: Seen) -> Counter[str]:
    return Counter(str(line.get("protocol")) for line in seen.events("client", "object"))


def _words(counts: Counter[str]) -> str:
    return ", ".join(f"{times} objects over {protocol}" for protocol, times in sorted(counts.items()))
