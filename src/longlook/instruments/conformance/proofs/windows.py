"""Proofs of flow control, and of how many requests a server answers at once.

Initial windows are in the peer's log, the largest window limits a round trip's bytes, and with few streams a page needs
more round trips.
"""

import math
from collections.abc import Mapping

from longlook.core import Scalar, Workload
from longlook.instruments.conformance import wire
from longlook.instruments.conformance.checks import Check, CheckFinding, Want, verdict
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.links import path
from longlook.instruments.conformance.proofs.ask import Ask, transfer
from longlook.instruments.conformance.qlogs import parameters

_OFFERED = 300_007
"""Neither a stack's default nor a round number."""

_RTT_S = 0.2
_SMALL, _ABOVE_INITIAL = 200_000, 1_200_000
"""Values of the largest window: below most initial ones if those can be set too, else above."""
_HEADERS = 1.08
"""Bytes of packets, with headers of packets and frames, over the bytes that flow control counts."""

_STREAM_PARAMETERS = {
    "client": "initial_max_stream_data_bidi_local",
    "server": "initial_max_stream_data_bidi_remote",
}


def initial_stream_window(ask: Ask) -> Check:
    """Read the window of streams that requests open: a client's is `bidi_local` (answers), a server's `bidi_remote`."""
    return offered(ask, _STREAM_PARAMETERS[ask.role], _OFFERED)


def initial_connection_window(ask: Ask) -> Check:
    """Read `initial_max_data`."""
    return offered(ask, "initial_max_data", _OFFERED)


def offered(ask: Ask, parameter: str, wanted: float, scale: float = 1.0) -> Check:
    """Demand that the peer's qlog has the parameter as it was set, and another value without the knob.

    `scale` converts the knob's unit to the parameter's.
    """
    value = ask.value(wanted)
    expected = round(float(value) * scale)

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        found = {
            name: parameters(seen[name].qlogs[ask.other_role], "remote").get(parameter) for name in ("default", "set")
        }
        broken = "" if seen["set"].ok else f"; {seen['set'].why}"
        text = f"{parameter} {found['set']} for {expected}, {found['default']} by default (peer's qlog){broken}"
        return verdict(seen["set"].ok and found["set"] == expected != found["default"], text)

    wants = {
        "default": ask.want({}, witnessed=True),
        "set": ask.want({ask.name: value}, witnessed=True),
    }
    return ask.check(wants, judge)


def max_window(ask: Ask) -> Check:
    """Demand that on a long path no round trip carries more than the largest window, and more without the knob."""
    if ask.role == "server":
        return ask.without("a server receives only requests, which never fill a window that tunes itself")
    initial = ask.name.replace("max_", "initial_")
    tuned = initial in ask.siblings
    largest = _SMALL if tuned else _ABOVE_INITIAL
    start: dict[str, Scalar] = {initial: largest // 2} if tuned else {}
    link, workload = (path(50, _RTT_S), transfer(6_000_000)) if tuned else (path(120, _RTT_S), transfer(15_000_000))
    wants = {
        "default": ask.want(start, link, workload),
        "set": ask.want({**start, ask.name: largest}, link, workload),
    }
    return _limited(ask, largest, wants)


def http2_window(ask: Ask) -> Check:
    """Demand that on a long path no round trip carries more than the window over TCP, and more without the knob."""
    link, workload = path(50, _RTT_S), transfer(6_000_000)
    wants = {"default": ask.want({}, link, workload), "set": ask.want({ask.name: _SMALL}, link, workload)}
    return _limited(ask, _SMALL, wants)


def send_buffer(ask: Ask) -> Check:
    """Demand that on a long path no round trip carries more than the sender keeps, and more without the knob."""
    return _kept(ask, default_may_be_smaller=False)


def stream_send_buffer(ask: Ask) -> Check:
    """Demand that on a long path no round trip carries more than is kept, and without the knob more or less."""
    return _kept(ask, default_may_be_smaller=True)


def _kept(ask: Ask, *, default_may_be_smaller: bool) -> Check:
    if ask.role == "client":
        return ask.without("a client sends only requests, which fill no buffer")
    link, workload = path(50, _RTT_S), transfer(6_000_000)
    wants = {
        "default": ask.want({}, link, workload, unlimited=True),
        "set": ask.want({ask.name: _SMALL}, link, workload, unlimited=True),
    }
    return _limited(ask, _SMALL, wants, default_may_be_smaller=default_may_be_smaller)


def _limited(ask: Ask, largest: int, wants: Mapping[str, Want], *, default_may_be_smaller: bool = False) -> Check:
    """Demand that no round trip of the trial `set` carries more than `largest` bytes, and more by `default`.

    If the default may be smaller, one that carries so much less shows the knob's effect, too.
    """

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        most = {name: wire.most_in(seen[name].packets, _RTT_S) for name in ("default", "set")}
        text = f"at most {most['set']} bytes in a round trip with {largest}, {most['default']} by default"
        if not seen["set"].ok or most["set"] is None or most["default"] is None:
            return verdict(False, f"{text}; {seen['set'].why}")
        less, more = most["set"], most["default"]
        if default_may_be_smaller:
            less, more = min(less, more), max(less, more)
        return verdict(most["set"] <= largest * _HEADERS and more >= 1.5 * less, text)

    return ask.check(wants, judge)


_OBJECTS, _FEW = 40, 4


def max_incoming_streams(ask: Ask) -> Check:
    """Measure the time for a page's images: each group of requests that is allowed at once takes a round trip."""
    if ask.role == "client":
        return ask.without("servers open no requests")
    link, workload = path(50, _RTT_S), Workload("page", {"objects": _OBJECTS, "object_bytes": 1_000})
    # Some stacks double the limit as it is used: 4, 8, 16, … at once. The first group may be asked for with the page.
    least_s = (math.ceil(math.log2(_OBJECTS / _FEW + 1)) - 1) * _RTT_S

    def judge(took_s: Mapping[str, float]) -> CheckFinding:
        few_s, usual_s = took_s["few"], took_s["default"]
        text = f"{_OBJECTS} objects in {few_s:.2f} s with {_FEW} at once, {usual_s:.2f} s by default (RTT {_RTT_S:g} s)"
        return verdict(few_s >= least_s and few_s > 2 * usual_s, text)

    values = {"default": None, "few": ask.value(_FEW)}
    steady = ask.steady(_RTT_S)
    return ask.compare(values, images_s, judge, apart=steady, link=link, workload=workload, unlimited=True)


def threads(ask: Ask) -> Check:
    """Measure the time for a page's images: with one thread, the handshakes of their connections wait in line."""
    link, workload = path(50, _RTT_S), Workload("page", {"objects": _OBJECTS, "object_bytes": 1_000})

    def judge(took_s: Mapping[str, float]) -> CheckFinding:
        one_s, many_s = took_s["one"], took_s["many"]
        text = f"{_OBJECTS} objects in {one_s:.2f} s with one thread, {many_s:.2f} s with many (RTT {_RTT_S:g} s)"
        return verdict(one_s >= _OBJECTS * _RTT_S and one_s > 2 * many_s, text)

    return ask.compare({"one": False, "many": True}, images_s, judge, link=link, workload=workload)


def images_s(seen: Seen) -> float | None:
    """Return the time from the end of the page's document to the last image's end; None if not all arrived."""
    if not seen.ok:
        return None
    ends = [int(line["t_end_ns"]) for line in seen.events("client", "object")]
    return (max(ends) - min(ends)) / 1e9


PROOFS = {
    "send_buffer": send_buffer,
    "stream_send_buffer": stream_send_buffer,
    "initial_stream_window": initial_stream_window,
    "initial_connection_window": initial_connection_window,
    "max_stream_window": max_window,
    "max_connection_window": max_window,
    "http2_stream_window": http2_window,
    "http2_connection_window": http2_window,
    "max_incoming_streams": max_incoming_streams,
    "threads": threads,
}
