"""Proofs of how a client chooses between QUIC and TCP, and of what a server tells it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from longlook.core import Stage
from longlook.instruments.conformance.checks import Check, CheckFinding, Want, comparing, verdict
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.links import path
from longlook.instruments.conformance.proofs.ask import Ask

_RTT_S = 0.04
_PORT = 443
"""The port on which the laboratory's servers listen."""
_SHORT_S, _LONG_S = 0.2, 1.0
_PACKETS_OF_A_HANDSHAKE = 12
"""Packets of each direction: the handshake is complete before, and the object is not there."""
_SLACK_S = 0.15
"""For the handshake before a connection can fall silent, and for the first round trips of an answer."""


def fallback_delay(ask: Ask) -> Check:
    """Measure when TCP is begun if no QUIC packet arrives."""
    return _began(ask, Stage("block", {"protocol": "udp"}))


def stall_timeout(ask: Ask) -> Check:
    """Measure when TCP is begun if QUIC's packets stop to arrive in the middle of an answer."""
    return _began(ask, Stage("cutoff", {"protocol": "udp", "packets": _PACKETS_OF_A_HANDSHAKE}))


def alt_svc_port(ask: Ask) -> Check:
    """Read the header in the answers over TCP, if no QUIC packet arrives."""
    ports = {"own": _PORT, "other": 4}
    rule = Stage("block", {"protocol": "udp"})
    link = path(20, _RTT_S, up=(rule,), down=(rule,))

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        named = {name: _alt_svc(found) for name, found in seen.items()}
        text = "; ".join(f"Alt-Svc is {value!r} {_asked(ports.get(name))}" for name, value in named.items())
        right = all(f'h3=":{port}"' in (named[name] or "") for name, port in ports.items())
        return verdict(right and named["none"] is None, text)

    wants = {name: ask.want({ask.name: port}, link) for name, port in ports.items()}
    return ask.check({**wants, "none": ask.want({}, link)}, judge)


def _asked(port: int | None) -> str:
    return "if none is asked for" if port is None else f"with port {port}"


def _alt_svc(seen: Seen) -> str | None:
    return next((line.get("alt_svc") for line in seen.events("client", "object") if line.get("protocol") == "h2"), None)


def memory(ask: Ask) -> Check:
    """Look for QUIC, of which a client knows only by what it remembers, and for the page that it loaded before."""

    def read(seen: Seen) -> tuple[str | None, int]:
        return _first_over(seen), len(seen.events("client", "earlier_load"))

    def judge(found: Mapping[str, tuple[str | None, int]]) -> CheckFinding:
        begun = {name: protocol for name, (protocol, _) in found.items()}
        text = ", ".join(f"{name}: the page over {over} after {pages} pages" for name, (over, pages) in found.items())
        return verdict(begun == {"none": "h2", "alt-svc": "h3", "page": "h3"} and found["page"][1] == 1, text)

    def want(value: str) -> Want:
        asked = ask.want({ask.name: value}, path(20, _RTT_S))
        return replace(asked, server=replace(asked.server, knobs={"alt_svc_port": _PORT}))

    return ask.check({value: want(value) for value in ("none", "alt-svc", "page")}, comparing(read, judge))


def resolver(ask: Ask) -> Check:
    """Look for QUIC, of which a client that was never there before knows only by an HTTPS record."""

    def judge(begun: Mapping[str, str]) -> CheckFinding:
        text = ", ".join(f"{name}: the page over {protocol}" for name, protocol in begun.items())
        return verdict(begun == {"none": "h2", "addresses": "h2", "https-record": "h3"}, text)

    values = {value: value for value in ("none", "addresses", "https-record")}
    return ask.compare(values, _first_over, judge, link=path(20, _RTT_S))


def _first_over(seen: Seen) -> str | None:
    """Return what the first object came over: its answer may tell of QUIC, which later ones then take."""
    objects = [line for line in seen.events("client", "object") if line.get("t_start_ns") is not None]
    return min(objects, key=lambda line: line["t_start_ns"]).get("protocol") if objects else None


def _began(ask: Ask, rule: Stage) -> Check:
    values = {"short": ask.value(_SHORT_S), "long": ask.value(_LONG_S)}

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        after_s = {name: _tcp_after_s(found) for name, found in seen.items()}
        if missing := [f"{name}: no TCP, {seen[name].why}" for name, found in after_s.items() if found is None]:
            return verdict(False, "; ".join(missing))
        text = ", ".join(f"TCP after {after_s[name]:.3f} s with {value} s" for name, value in values.items())
        late = [float(after_s[name] or 0) - float(value) for name, value in values.items()]
        return verdict(all(0 <= each <= _SLACK_S for each in late), text)

    link = path(20, _RTT_S, up=(rule,), down=(rule,))
    return ask.check({name: ask.want({ask.name: value}, link, timeout_s=20.0) for name, value in values.items()}, judge)


def _tcp_after_s(seen: Seen) -> float | None:
    """Return how long after the first request the connection over TCP was begun."""
    requested = _starts_ns(seen.events("client", "object"))
    began = _starts_ns(line for line in seen.events("client", "connection") if line.get("protocol") == "h2")
    return (min(began) - min(requested)) / 1e9 if requested and began else None


def _starts_ns(lines: Iterable[Mapping[str, Any]]) -> list[int]:
    return [line["t_start_ns"] for line in lines if line.get("t_start_ns") is not None]


PROOFS = {
    "alt_svc_port": alt_svc_port,
    "fallback_delay": fallback_delay,
    "memory": memory,
    "resolver": resolver,
    "stall_timeout": stall_timeout,
}
