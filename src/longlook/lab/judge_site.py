"""The part of `judge` about sites, servers of the world outside of which no program here knows anything. Pure.

A site may refuse, send elsewhere, or answer one arm otherwise than the other. Then the arms are not compared, so that
the trial is invalid. Everything here is known from the lines of the client and of the program that stands for the
site, which measured the path without emulation before the client began.
"""

from collections.abc import Iterable, Iterator, Mapping

from longlook.core import (
    BASE_BOUND_MS,
    BY_DIGEST,
    BY_SIZE,
    COMPARE,
    QUIC_BASE,
    TCP_BASE,
    USUAL_BASE_BOUND_MS,
    ExpectedAnswer,
    Outcome,
    Site,
    find_protocol,
)
from longlook.lab.observations import FlowCase, Judgement, Line, bounded

TOO_MANY = (429, 503)
"""Statuses by which a host asks for fewer requests: always by the first, by the second when it is busy."""
_QUIC_BOUNDS = 4  # a single handshake over QUIC has this machine's work in it, and TCP's is the shortest of three
_HINT = "see client.jsonl and server.jsonl; docs/guide/endpoints.md has what makes a round invalid"


def site(case: FlowCase) -> Judgement | None:
    """Check that the site answered this arm as it answered the others of the round, over the same path."""
    if case.site is None:
        return None
    for reason in _reasons(case, case.site):
        return Judgement(Outcome.INVALID, bounded(f"{case.site.url.host}: {reason}"), _HINT)
    return None


def _reasons(case: FlowCase, of: Site) -> Iterator[str]:
    bases = case.server.events("base")
    yield from _unreachable(case, bases)
    for line in case.client.events("object"):
        yield from _refused(line, of.url.path, of.url.host)
        yield from _changed(line, of, str(case.trial.server.knobs.get(COMPARE, BY_DIGEST)))
    bound_ms = float(case.trial.server.knobs.get(BASE_BOUND_MS, USUAL_BASE_BOUND_MS))
    yield from _moved(base_times_ns(bases), of.base_ns, bound_ms)
    certificate = certificate_of(bases)
    if of.certificate and certificate and certificate != of.certificate:
        yield (
            f"its certificate changed within the round, from {of.certificate[:19]}… to {certificate[:19]}…; "
            "handshakes may differ in size"
        )


def base_times_ns(bases: Iterable[Line]) -> dict[str, int]:
    """Return the shortest handshake of each transport that answered, in ns, from lines `base`."""
    found = {}
    for line in bases:
        if line.get("error") is not None:
            continue
        times = line.get("connect_ns") if line.get("transport") == TCP_BASE else [line.get("handshake_ns")]
        if times and all(isinstance(each, int) and each > 0 for each in times):
            found[str(line.get("transport"))] = min(times)
    return found


def certificate_of(bases: Iterable[Line]) -> str:
    """Return the digest of the certificate that the site had over TCP, "" if it is not known."""
    return next((str(line.get("certificate")) for line in bases if line.get("transport") == TCP_BASE), "")


def answers_of(objects: Iterable[Line]) -> dict[str, ExpectedAnswer]:
    """Return the answers that arrived whole, by path; the digest is empty if the client does not know it."""
    return {
        str(line.get("path")): ExpectedAnswer(int(line["bytes"]), str(line.get("digest") or ""))
        for line in objects
        if line.get("error") is None and isinstance(line.get("bytes"), int)
    }


def _unreachable(case: FlowCase, bases: Iterable[Line]) -> Iterator[str]:
    """Yield that the path itself did not answer over the trial's transport, before any emulation."""
    transport = QUIC_BASE if find_protocol(case.trial.protocol).quic else TCP_BASE
    for line in bases:
        if line.get("error") is not None and line.get("transport") in (transport, TCP_BASE):
            name = "QUIC" if line.get("transport") == QUIC_BASE else "TCP and TLS"
            yield f"no handshake by {name} with {line.get('address')} without emulation: {line['error']}"


def _refused(line: Line, path: str, host: str) -> Iterator[str]:
    status = line.get("status")
    if not isinstance(status, int) or 200 <= status < 300:
        return
    headers = line.get("headers")
    headers = headers if isinstance(headers, Mapping) else {}
    if status in TOO_MANY:
        after = headers.get("retry-after")
        yield f"HTTP status {status}: it asks for fewer requests{f', and to wait {after} s' if after else ''}"
    elif 300 <= status < 400:
        place = headers.get("location", "another place")
        yield f"HTTP status {status}: {path} is now at {place}, which is not followed"
    else:
        yield f"HTTP status {status} for https://{host}{path}"


def _changed(line: Line, of: Site, compare: str) -> Iterator[str]:
    known = of.known.get(str(line.get("path")))
    if known is None or line.get("error") is not None:
        return
    if line.get("bytes") != known.bytes:
        yield f"its body changed within the round: {known.bytes} bytes, now {line.get('bytes')}"
    elif compare != BY_SIZE and line.get("digest") and known.digest and line["digest"] != known.digest:
        yield (
            f"its body changed within the round: {known.digest[:19]}…, now {str(line['digest'])[:19]}…; "
            f'if only its size counts: server_knobs.{COMPARE} = "{BY_SIZE}"'
        )


def _moved(now_ns: Mapping[str, int], before_ns: Mapping[str, int], bound_ms: float) -> Iterator[str]:
    for transport, bounds in ((TCP_BASE, 1), (QUIC_BASE, _QUIC_BOUNDS)):
        if transport not in now_ns or transport not in before_ns:
            continue
        moved_ms = abs(now_ns[transport] - before_ns[transport]) / 1e6
        if moved_ms > bounds * bound_ms:
            name = "round trip by TCP" if transport == TCP_BASE else "handshake by QUIC"
            yield (
                f"the path to it changed within the round: {name} of {before_ns[transport] / 1e6:.1f} ms, "
                f"now {now_ns[transport] / 1e6:.1f} ms, more than {bounds * bound_ms:g} ms apart"
            )
