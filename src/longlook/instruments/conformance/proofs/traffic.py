"""Proofs of a source of bare datagrams: how much it sends, in which sizes, and when."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from longlook.core import DURATION, Scalar, Workload
from longlook.instruments.conformance.checks import Check, CheckFinding, verdict
from longlook.instruments.conformance.evidence import Floats, RouterPackets, Seen
from longlook.instruments.conformance.proofs.ask import Ask

_HEADER_BYTES = 28  # IPv4 and UDP
_RATES_BPS = (1_000_000, 8_000_000)
_PAYLOADS_BYTES = (400, 1_400)
_PERIODS_S = (0.5, 2.0)
_OTHER_PERIOD_S = 1.0
_NEAR = 0.02

_SHORT_S = 0.4
_MANY = 120
"""Periods of exponential length: their mean is then known to 9 %, and their spread, which is 1, to 15 % (one standard
deviation)."""
_REGULAR = 0.1
_RANDOM = (0.6, 1.4)
_NEAR_MEAN = 0.35
"""Three standard deviations, and some pauses that are too short to be seen, so that two periods count as one."""

_PAUSE = 10
"""A gap of this many usual gaps between packets is a pause. In real time, a busy machine may cause shorter ones."""
_FINE_BPS = 4_000_000
"""Many packets in each period, so that its edges are known well."""


def rate(ask: Ask) -> Check:
    """Measure the IP bits of the server's packets over the time that they took."""
    return _measured(ask, _RATES_BPS, {}, 10.0, _rate_bps)


def packet_size(ask: Ask) -> Check:
    """Demand that all of the server's datagrams have exactly the size."""
    values = {f"{value}": ask.value(value) for value in _PAYLOADS_BYTES}

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        sizes = {name: sorted(set(found.packets.of("server").payload_bytes.tolist())) for name, found in seen.items()}
        text = ", ".join(f"datagrams of {sizes[name]} bytes with {values[name]}" for name in values)
        exact = all(sizes[name] == [values[name]] for name in values)
        return verdict(exact and all(found.ok for found in seen.values()), text)

    return ask.check({name: ask.want({ask.name: value}, None, _lasting(3.0)) for name, value in values.items()}, judge)


def on(ask: Ask) -> Check:
    """Measure how long the server sends between two pauses."""
    apart: dict[str, Scalar] = {"rate": _FINE_BPS, "off": _OTHER_PERIOD_S}
    return _measured(ask, _PERIODS_S, apart, 15.0, lambda packets: _mean(periods(packets)[0]))


def off(ask: Ask) -> Check:
    """Measure how long the server pauses between two periods of sending."""
    apart: dict[str, Scalar] = {"rate": _FINE_BPS, "on": _OTHER_PERIOD_S}
    return _measured(ask, _PERIODS_S, apart, 15.0, lambda packets: _mean(periods(packets)[1]))


def law(ask: Ask) -> Check:
    """Measure the spread of the lengths as a share of their mean: 0 if they are fixed, 1 if exponential."""
    knobs: dict[str, Scalar] = {"rate": _FINE_BPS, "on": _SHORT_S, "off": _SHORT_S}
    bands = {"fixed": (0.0, _REGULAR), "exponential": _RANDOM}

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        parts, holds = [], all(found.ok for found in seen.values())
        for name, found in seen.items():
            for lengths_s in periods(found.packets):
                mean_s = _mean(lengths_s)
                if mean_s is None:
                    return verdict(False, found.why if not found.ok else f"{name}: no pauses")
                spread = float(np.std(lengths_s)) / mean_s
                low, high = bands.get(name, (np.inf, np.inf))
                holds = holds and low <= spread <= high and abs(mean_s / _SHORT_S - 1) < _NEAR_MEAN
                parts.append(f"{name}: {len(lengths_s)} of {mean_s:.3f} s on average, spread {spread:.2f} of it")
        return verdict(holds, "; ".join(parts))

    lasting_s = 2 * _SHORT_S * _MANY
    wants = {
        str(name): ask.want({**knobs, ask.name: name}, None, _lasting(lasting_s), timeout_s=2 * lasting_s)
        for name in ask.knob.choices
    }
    return ask.check(wants, judge)


def periods(packets: RouterPackets) -> tuple[Floats, Floats]:
    """Return the lengths of the server's complete periods of sending, and of its pauses, in seconds.

    The first and the last period are incomplete and left out. The usual gap behind a packet belongs to the period in
    which it was sent, and only the rest of a longer gap is the pause.
    """
    sent_s = packets.of("server").sent_s
    gaps_s = np.diff(sent_s)
    usual_s = float(np.median(gaps_s)) if len(gaps_s) else 0.0
    at = np.flatnonzero(gaps_s > _PAUSE * usual_s)
    if len(at) < 2:
        return np.array([]), np.array([])
    return sent_s[at[1:]] - sent_s[at[:-1] + 1] + usual_s, gaps_s[at] - usual_s


def _measured(
    ask: Ask,
    wanted: Sequence[float],
    apart: Mapping[str, Scalar],
    lasting_s: float,
    measure: Callable[[RouterPackets], float | None],
) -> Check:
    """Demand that each of some values shows on the wire within 2 %. `apart` are knobs that isolate the effect."""
    values = {f"{value:g}": ask.value(value) for value in wanted}

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        got = {name: measure(found.packets) for name, found in seen.items()}
        missing = next((found.why for found in seen.values() if not found.ok), "nothing to measure")
        shown = [missing if value is None else f"{value:.3f} {ask.knob.unit or ''}" for value in got.values()]
        text = ", ".join(f"{one} with {value}" for one, value in zip(shown, values.values(), strict=True))
        near = [value is not None and abs(value / float(values[name]) - 1) < _NEAR for name, value in got.items()]
        return verdict(all(near) and all(found.ok for found in seen.values()), text)

    wants = {name: ask.want({**apart, ask.name: value}, None, _lasting(lasting_s)) for name, value in values.items()}
    return ask.check(wants, judge)


def _rate_bps(packets: RouterPackets) -> float | None:
    """Return the rate from the first packet to the last, which is not counted: its transmission follows it."""
    server = packets.of("server")
    if len(server) < 2 or server.sent_s[-1] <= server.sent_s[0]:
        return None
    ip_bytes = (server.payload_bytes[:-1] + _HEADER_BYTES).sum()
    return float(ip_bytes * 8 / (server.sent_s[-1] - server.sent_s[0]))


def _lasting(time_s: float) -> Workload:
    return Workload("compete", {DURATION: time_s})


def _mean(lengths_s: Floats) -> float | None:
    return float(lengths_s.mean()) if len(lengths_s) else None


PROOFS = {"rate": rate, "packet_size": packet_size, "on": on, "off": off, "law": law}
