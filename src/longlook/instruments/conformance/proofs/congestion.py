"""Proofs of congestion control, by the effect of one loss on the window, of the initial window, pacing and HyStart."""

from collections.abc import Callable, Mapping
from itertools import combinations

import numpy as np

from longlook.core import RFC_WINDOW_AFTER_LOSS, Link, Scalar, Stage
from longlook.instruments.conformance import wire
from longlook.instruments.conformance.checks import Check, CheckFinding, verdict
from longlook.instruments.conformance.evidence import RouterPackets, Seen
from longlook.instruments.conformance.links import path
from longlook.instruments.conformance.proofs.ask import Ask, transfer

_RTT_S = 0.1
_RATE_MBPS = 30
_PATH_BYTES = _RATE_MBPS * 1e6 * _RTT_S / 8
_LOST = (170, 1_000)
"""The first ends slow start below what the rate allows; the second, which is measured, meets a window that hardly
grows."""
_SIZE_BYTES = 5_000_000

BANDS: Mapping[str, tuple[float, float]] = {
    "reno": (0.40, 0.60),  # RFC 9002, 7.3.2: half
    "cubic": (0.60, 0.92),  # RFC 9438: 0.7; 0.85 where two connections are emulated
}
"""The share of the window that one loss leaves. Controllers that model the path do not reduce it."""

_NO_CUT = (0.85, float("inf"))
_TURNS_OF_MODELS = 8
_BELOW, _ABOVE = 0.1, 0.15
"""The margins around the share that a stack declares: the window grows in the two round trips that pass until it is
counted, and faster if it acts for several connections."""

_CONNECTIONS = (1, 2, 4)
_NEAR = 0.06  # it grows a little while the loss is found

_SHARES = (0.5, 0.9)

_SECOND_S = 0.4
_FEWER, _MORE = 10, 40
_LEAST, _MOST = 2, 50
_TURN = 6
_HEAVY = 0.2
_SURPLUS = 8  # the handshake's acknowledgements have opened the window by its packets; probes of the MTU


def congestion_control(ask: Ask) -> Check:
    """Demand that each choice leaves a share of the window within its band, and that no two choices send alike."""
    if ask.role == "client":
        return ask.without("a client sends only requests, which no window delays")
    choices = [str(choice) for choice in ask.knob.choices]
    declared = ask.knob.window_after_loss

    def link(choice: str) -> Link:
        together = ask.knob.lasting_loss.get(choice, 1)
        indexes = tuple(lost for first in _LOST for lost in range(first, first + together))
        return path(_RATE_MBPS, _RTT_S, down=(Stage("loss_index", {"indexes": indexes}),))

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        left = {name: _left(seen[name].packets, of_model=_band(name, declared) is _NO_CUT) for name in choices}
        text = ", ".join(
            f"{name} ×{value:.2f}" if value is not None else f"{name} {seen[name].why}" for name, value in left.items()
        )
        wrong = [name for name, value in left.items() if value is None or not _within(_band(name, declared), value)]
        alike = [pair for pair in combinations(choices, 2) if _same(seen[pair[0]].packets, seen[pair[1]].packets)]
        shares = f"window after one loss: {text}" + "".join(f"; {one} and {two} send alike" for one, two in alike)
        bands = "".join(
            f"; {name} should be ×{low:g} to ×{high:g}"
            for name, (low, high) in ((name, _band(name, declared)) for name in wrong)
        )
        return verdict(not wrong and not alike and bool(choices), shares + bands)

    return ask.check(
        {name: ask.want({ask.name: name}, link(name), transfer(_SIZE_BYTES), unlimited=True) for name in choices}, judge
    )


def initial_window(ask: Ask) -> Check:
    """Count the large packets before the first of them can be acknowledged, for two windows."""
    if ask.role == "client":
        return ask.without("a client sends only requests, which no window delays")
    link = path(50, _SECOND_S)
    values = {"fewer": ask.value(_FEWER), "more": ask.value(_MORE)}

    def read(seen: Seen) -> int:
        return wire.first_flight(seen.packets, _SECOND_S)[0]

    def judge(sent: Mapping[str, int]) -> CheckFinding:
        text = ", ".join(f"{sent[name]} packets for {values[name]}" for name in values)
        fits = [int(values[name]) - 3 <= sent[name] <= int(values[name]) + _SURPLUS for name in values]
        return verdict(all(fits) and sent["more"] > sent["fewer"] + _SURPLUS, f"first flight: {text}")

    workload = transfer(300_000)
    # A probe of the MTU may be sent long before the data, and would be taken for its first packet.
    quiet = ask.steady(_SECOND_S) | ({"disable_pmtud": True} if "disable_pmtud" in ask.siblings else {})
    return ask.compare(values, read, judge, apart=quiet, link=link, workload=workload, unlimited=True)


def emulated_connections(ask: Ask) -> Check:
    """Measure what one loss leaves of Cubic's window when it acts for N connections: (N - 0.3) / N."""
    if ask.role == "client":
        return ask.without("a client sends only requests, which no window delays")
    link = path(_RATE_MBPS, _RTT_S, down=(Stage("loss_index", {"indexes": _LOST}),))

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        left = {number: _left(seen[str(number)].packets, of_model=False) for number in _CONNECTIONS}
        wanted = {number: 1 - (1 - RFC_WINDOW_AFTER_LOSS["cubic"]) / number for number in _CONNECTIONS}
        text = ", ".join(
            f"{number}: {seen[str(number)].why if value is None else f'×{value:.2f}, expected ×{wanted[number]:.2f}'}"
            for number, value in left.items()
        )
        near = all(value is not None and abs(value - wanted[number]) < _NEAR for number, value in left.items())
        known = [value for value in left.values() if value is not None]
        return verdict(near and known == sorted(known), f"window after one loss: {text}")

    wants = {
        str(number): ask.want(
            {"congestion_control": "cubic", ask.name: ask.value(number)}, link, transfer(_SIZE_BYTES), unlimited=True
        )
        for number in _CONNECTIONS
    }
    return ask.check(wants, judge)


def window_after_loss(ask: Ask) -> Check:
    """Measure what one loss leaves of the window, for two shares."""
    if ask.role == "client":
        return ask.without("a client sends only requests, which no window delays")
    link = path(_RATE_MBPS, _RTT_S, down=(Stage("loss_index", {"indexes": _LOST}),))

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        left = {share: _left(seen[f"{share:g}"].packets, of_model=False) for share in _SHARES}
        text = ", ".join(
            f"{seen[f'{share:g}'].why if value is None else f'×{value:.2f}'} with {share:g}"
            for share, value in left.items()
        )
        near = all(value is not None and abs(value - share) < _NEAR for share, value in left.items())
        return verdict(near, f"window after one loss: {text}")

    apart = {"congestion_control": "reno"} if "congestion_control" in ask.siblings else {}
    wants = {
        f"{share:g}": ask.want({**apart, ask.name: ask.value(share)}, link, transfer(_SIZE_BYTES), unlimited=True)
        for share in _SHARES
    }
    return ask.check(wants, judge)


def max_window(ask: Ask) -> Check:
    """Bound the bytes that reach the client in a round trip by the largest window."""
    return _bounded(ask, lambda packets: wire.most_in(packets, _SECOND_S) or 0, _MOST)


def initial_ssthresh(ask: Ask) -> Check:
    """Bound the bytes of the sixth round trip, in which slow start would have made the window many times as large."""
    return _bounded(ask, lambda packets: wire.sent_in_turn(packets, _SECOND_S, _TURN), _MOST)


def _bounded(ask: Ask, measure: Callable[[RouterPackets], int], window: int) -> Check:
    """Demand that a number of bytes is about a window of `window` packets, and twice as large without the knob."""
    if ask.role == "client":
        return ask.without("a client sends only requests, which no window delays")
    link, workload = path(50, _SECOND_S), transfer(_SIZE_BYTES)

    def read(seen: Seen) -> tuple[int, int]:
        return measure(seen.packets), wire.largest(seen.packets, "server") or 1

    def judge(found: Mapping[str, tuple[int, int]]) -> CheckFinding:
        _, size_bytes = found["bound"]
        packets = {name: in_bytes / size_bytes for name, (in_bytes, _) in found.items()}
        counts = f"{packets['bound']:.0f} packets in a round trip with {values['bound']}"
        text = f"{counts}, {packets['default']:.0f} by default"
        near = 0.7 * window <= packets["bound"] <= 1.25 * window
        return verdict(near and packets["default"] > 2 * packets["bound"], text)

    values = {"bound": ask.value(window), "default": None}
    quiet = {**ask.steady(_SECOND_S), **_no_model(ask)}
    return ask.compare(values, read, judge, apart=quiet, link=link, workload=workload, unlimited=True)


def min_window(ask: Ask) -> Check:
    """Lose a fifth of all packets: a sender then sends as many in a round trip as its smallest window allows."""
    if ask.role == "client":
        return ask.without("a client sends only requests, which no window delays")
    link = path(_RATE_MBPS, _RTT_S, down=(Stage("loss", {"probability": _HEAVY}),))
    values = {"small": ask.value(_LEAST), "large": ask.value(_MOST)}

    def read(seen: Seen) -> float:
        return wire.sending_s(seen.packets) / _RTT_S

    def judge(took: Mapping[str, float]) -> CheckFinding:
        text = ", ".join(f"{took[name]:.0f} round trips with {values[name]}" for name in values)
        return verdict(took["small"] > 2 * took["large"], f"with a fifth of all packets lost: {text}")

    return ask.compare(
        values,
        read,
        judge,
        apart=_no_model(ask),
        link=link,
        workload=transfer(500_000),
        unlimited=True,
        timeout_s=120.0,
    )


def _no_model(ask: Ask) -> dict[str, Scalar]:
    """Return the choice of Cubic if there is one: a model of the path has no threshold and does not mind losses."""
    controller = ask.siblings.get("congestion_control")
    return {"congestion_control": "cubic"} if controller is not None and "cubic" in controller.choices else {}


def _left(packets: RouterPackets, *, of_model: bool) -> float | None:
    """Return the share of the window that is left; of a model the most in several round trips, since one may drain a
    queue.
    """
    turns = range(_TURNS_OF_MODELS) if of_model else range(1)
    found = [wire.window_after_loss(packets, _RTT_S, _PATH_BYTES, later_turns=turn) for turn in turns]
    return max((share for share in found if share is not None), default=None)


def _band(name: str, declared: Mapping[str, float]) -> tuple[float, float]:
    if name in declared:
        return declared[name] - _BELOW, declared[name] + _ABOVE
    return BANDS.get(name, _NO_CUT)


def _within(band: tuple[float, float], value: float) -> bool:
    low, high = band
    return low <= value <= high


def _same(one: RouterPackets, other: RouterPackets) -> bool:
    """Return whether two servers sent packets of the same sizes at the same times."""
    first, second = one.of("server"), other.of("server")
    if len(first) != len(second):
        return False
    one_s, other_s = (packets.sent_s - packets.sent_s[:1] for packets in (first, second))
    return bool(np.array_equal(first.payload_bytes, second.payload_bytes) and np.allclose(one_s, other_s, atol=1e-6))


_QUEUE_BYTES = 600_000
_PARTS_MORE = 1.5
_SLOW_BPS, _HALF_S = 5_000_000, 0.5
_SHORT, _LONG = 2, 24
_PACKETS_MORE = 4  # the end of the handshake, and a packet or two that the pace had let through by then
_TOGETHER_S = 0.0005


def pacing(ask: Ask) -> Check:
    """Count the twentieths of a round trip in which the server sends, while its window is far below the rate."""
    if ask.role == "client":
        return ask.without("a client sends only requests: nothing to spread")
    link, workload = path(100, _RTT_S), transfer(1_000_000)

    def read(seen: Seen) -> float | None:
        return wire.spread(seen.packets, _RTT_S)

    def judge(share: Mapping[str, float]) -> CheckFinding:
        on, off = share["on"], share["off"]
        return verdict(
            on >= _PARTS_MORE * off, f"sends in {on:.0%} of a round trip's twentieths when on, {off:.0%} when off"
        )

    return ask.compare({"on": True, "off": False}, read, judge, link=link, workload=workload)


def pacing_burst(ask: Ask) -> Check:
    """Count the packets that leave together, of a first window that is larger than either burst."""
    if ask.role == "client":
        return ask.without("a client sends only requests: nothing to pace")
    link, workload = path(100, _RTT_S), transfer(100_000)
    values = {"short": ask.value(_SHORT), "long": ask.value(_LONG)}

    def read(seen: Seen) -> int:
        return wire.longest_train(seen.packets, _TOGETHER_S)

    def judge(sent: Mapping[str, int]) -> CheckFinding:
        text = ", ".join(f"{sent[name]} packets together with {values[name]}" for name in values)
        return verdict(all(abs(sent[name] - int(values[name])) <= _PACKETS_MORE for name in values), text)

    return ask.compare(values, read, judge, link=link, workload=workload)


def max_pacing_rate(ask: Ask) -> Check:
    """Demand that no half second carries more than the rate, and its bursts, on a path that is ten times as fast."""
    if ask.role == "client":
        return ask.without("a client sends only requests: nothing to pace")
    link, workload = path(_SLOW_BPS * 10 / 1e6, _RTT_S), transfer(2_000_000)

    def read(seen: Seen) -> float:
        return 8 * (wire.most_in(seen.packets, _HALF_S) or 0) / _HALF_S

    def judge(bits: Mapping[str, float]) -> CheckFinding:
        text = (
            f"at most {bits['slow'] / 1e6:.2f} Mbit/s with {_SLOW_BPS / 1e6:g}, {bits['default'] / 1e6:.2f} by default"
        )
        return verdict(0.5 * _SLOW_BPS < bits["slow"] <= 1.15 * _SLOW_BPS and bits["default"] > 2 * bits["slow"], text)

    return ask.compare({"slow": _SLOW_BPS, "default": None}, read, judge, link=link, workload=workload)


def hystart(ask: Ask) -> Check:
    """Compare the queue's peak in a deep buffer: without HyStart slow start fills it completely."""
    if ask.role == "client":
        return ask.without("a client sends only requests: no slow start to leave")
    link, workload = path(20, 0.06, _QUEUE_BYTES), transfer(3_000_000)
    apart: dict[str, Scalar] = {"congestion_control": "cubic"} if _offers_cubic(ask) else {}

    def read(seen: Seen) -> tuple[int, int]:
        return int(seen.packets.of("server").queue_bytes.max()), seen.run.link["down"]["dropped_queue"]

    def judge(found: Mapping[str, tuple[int, int]]) -> CheckFinding:
        (peak, lost), (peak_off, lost_off) = found["on"], found["off"]
        text = f"queue's peak {peak} bytes ({lost} lost) when on, {peak_off} ({lost_off} lost) when off"
        return verdict(peak < 0.8 * peak_off or lost < 0.5 * lost_off, text)

    return ask.compare({"on": True, "off": False}, read, judge, apart=apart, link=link, workload=workload)


def _offers_cubic(ask: Ask) -> bool:
    sibling = ask.siblings.get("congestion_control")
    return sibling is not None and "cubic" in sibling.choices


PROOFS = {
    "congestion_control": congestion_control,
    "emulated_connections": emulated_connections,
    "initial_ssthresh": initial_ssthresh,
    "initial_window": initial_window,
    "max_window": max_window,
    "min_window": min_window,
    "window_after_loss": window_after_loss,
    "pacing": pacing,
    "pacing_burst": pacing_burst,
    "max_pacing_rate": max_pacing_rate,
    "hystart": hystart,
}
