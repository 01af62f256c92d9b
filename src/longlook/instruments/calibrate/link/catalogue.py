"""Every case of a calibration: the basic ones, and the cases of the other impairments."""

from collections.abc import Mapping

from longlook.core import Json, Stage
from longlook.instruments.calibrate.link.laws import (
    Bernoulli,
    Bursts,
    Case,
    Displacement,
    Doubling,
    Gilbert,
    Law,
    Overtaking,
    Propagation,
    RandomDelay,
    UniformDelay,
)
from longlook.instruments.calibrate.link.passages import Netem, Schedule
from longlook.instruments.calibrate.link.queues import (
    Bottleneck,
    ControlledDelay,
    Coupled,
    DropTail,
    EarlyDrop,
    FairShare,
    Opportunities,
    StepMarks,
    VaryingRate,
)

_MS, _MBIT = 1_000_000, 1_000_000
_FULL_BYTES, _SMALL_BYTES = 1_500, 100
_GRACE_NS = 100 * _MS  # after the last packet must have come, in virtual time
_PLENTY_BYTES = 100_000_000  # a queue that never fills


def _rate_stage(rate_bps: int, queue_bytes: int) -> Stage:
    return Stage("rate", {"rate_bps": rate_bps, "queue_bytes": queue_bytes})


def _rate(mbit: int) -> Case:
    rate_bps, count = mbit * _MBIT, 1_000
    bits = count * _FULL_BYTES * 8
    return Case(
        name=f"rate {mbit} Mbit/s",
        law=Bottleneck(rate_bps),
        stages=(_rate_stage(rate_bps, count * _FULL_BYTES),),
        netem=Netem(limit_packets=count, rate_bps=rate_bps),
        schedule=Schedule(count, per_group=count),
        size_bytes=_FULL_BYTES,
        drain_ns=bits * 1_000_000_000 // rate_bps + _GRACE_NS,
    )


def _delay(milliseconds: int) -> Case:
    delay_ns, count = milliseconds * _MS, 1_000
    return Case(
        name=f"delay {milliseconds} ms",
        law=Propagation(delay_ns),
        stages=(Stage("delay", {"delay_ns": delay_ns}),),
        netem=Netem(limit_packets=count, delay_ns=delay_ns),
        schedule=Schedule(count, period_ns=_MS),
        size_bytes=_FULL_BYTES,
        drain_ns=delay_ns + _GRACE_NS,
    )


def _drop_tail(mbit: int, queue_bytes: int, period_ns: int) -> Case:
    """The period has no simple ratio to a packet's time, so that packets come at every phase of the transmission."""
    rate_bps, held = mbit * _MBIT, queue_bytes // _FULL_BYTES
    return Case(
        name=f"queue {queue_bytes} B at {mbit} Mbit/s",
        law=DropTail(rate_bps, queue_bytes),
        stages=(_rate_stage(rate_bps, queue_bytes),),
        netem=Netem(limit_packets=held, rate_bps=rate_bps),
        schedule=Schedule(2_000, period_ns=period_ns),
        size_bytes=_FULL_BYTES,
        drain_ns=held * _FULL_BYTES * 8 * 1_000 // mbit + _GRACE_NS,
    )


def _loss(percent: int, count: int) -> Case:
    return Case(
        name=f"loss {percent} %",
        law=Bernoulli(percent / 100),
        stages=(Stage("loss", {"probability": percent / 100}),),
        netem=Netem(limit_packets=count, loss=percent / 100),
        schedule=Schedule(count, period_ns=_MS, per_group=50),
        size_bytes=_SMALL_BYTES,
        drain_ns=_GRACE_NS,
    )


def uniform_jitter(delay_ns: int, jitter_ns: int) -> Case:
    """Packets so far apart that none meets another: the law of one draw."""
    count = 3_000
    return Case(
        name=f"jitter {delay_ns // _MS} ± {jitter_ns // _MS} ms",
        law=UniformDelay(delay_ns - jitter_ns, delay_ns + jitter_ns),
        stages=(
            Stage("delay", {"delay_ns": delay_ns}),
            Stage("jitter", {"jitter_ns": jitter_ns, "reorder": True}),
        ),
        netem=Netem(limit_packets=count, delay_ns=delay_ns, jitter_ns=jitter_ns),
        schedule=Schedule(count, period_ns=3 * jitter_ns),
        size_bytes=_SMALL_BYTES,
        drain_ns=delay_ns + jitter_ns + _GRACE_NS,
    )


def _access(max_ns: int) -> Case:
    count = 3_000
    return Case(
        name=f"access up to {max_ns / _MS:g} ms",
        law=UniformDelay(0, max_ns),
        stages=(Stage("access", {"max_ns": max_ns}),),
        netem=Netem(limit_packets=count, delay_ns=max_ns // 2, jitter_ns=max_ns // 2),
        schedule=Schedule(count, period_ns=2 * max_ns),
        size_bytes=_SMALL_BYTES,
        drain_ns=max_ns + _GRACE_NS,
    )


def _reorder(delay_ns: int, jitter_ns: int, spacing_ns: int) -> Case:
    """Pairs of packets; pairs are so far apart that they are independent of one another."""
    count = 4_000
    return Case(
        name=f"pairs {spacing_ns // _MS} ms apart, ± {jitter_ns // _MS} ms",
        law=Overtaking(spacing_ns, 2 * jitter_ns),
        stages=(
            Stage("delay", {"delay_ns": delay_ns}),
            Stage("jitter", {"jitter_ns": jitter_ns, "reorder": True}),
        ),
        netem=Netem(limit_packets=count, delay_ns=delay_ns, jitter_ns=jitter_ns),
        schedule=Schedule(count, period_ns=spacing_ns + 3 * jitter_ns, per_group=2, spacing_ns=spacing_ns),
        size_bytes=_SMALL_BYTES,
        drain_ns=delay_ns + jitter_ns + _GRACE_NS,
    )


BASIC: tuple[Case, ...] = (
    _rate(1),
    _rate(10),
    _rate(100),
    _delay(5),
    _delay(18),
    _delay(100),
    _drop_tail(1, 15_000, 4_637_000),
    _drop_tail(10, 100_000, 487_300),
    _loss(1, 20_000),
    _loss(10, 10_000),
    uniform_jitter(20 * _MS, 10 * _MS),
    _access(1_200_000),
    _reorder(20 * _MS, 10 * _MS, 4 * _MS),
)


def _chance(
    name: str, law: Law, kind: str, parameters: Mapping[str, Json], count: int, netem: Netem | None = None
) -> Case:
    return Case(
        name=name,
        law=law,
        stages=(Stage(kind, parameters),),
        netem=netem,
        schedule=Schedule(count, period_ns=_MS, per_group=50),
        size_bytes=_SMALL_BYTES,
        drain_ns=_GRACE_NS,
    )


def _jitter(law: str, correlation: float = 0.0, unit_ns: int = _MS) -> Case:
    """Packets so far apart that none meets another; five deviations from the least delay."""
    delay_ns, deviation_ns, count = 20 * unit_ns, 4 * unit_ns, 3_000
    parameters: dict[str, Json] = {"jitter_ns": deviation_ns, "reorder": True, "law": law, "correlation": correlation}
    return Case(
        name=f"{law} jitter {delay_ns / _MS:g} ± {deviation_ns / _MS:g} ms"
        + (f", correlation {correlation:g}" if correlation else ""),
        law=RandomDelay(law, delay_ns, deviation_ns, correlation),
        stages=(Stage("delay", {"delay_ns": delay_ns}), Stage("jitter", parameters)),
        netem=None,  # its tables approximate both laws, and its correlation narrows them
        schedule=Schedule(count, period_ns=30 * unit_ns),
        size_bytes=_SMALL_BYTES,
        drain_ns=500 * _MS,
    )


def _displaced() -> Case:
    probability, depth, wait_ns = 0.05, 3, 500 * _MS
    return Case(
        name="5 % of packets 3 places late",
        law=Displacement(probability, depth),
        stages=(Stage("reorder", {"probability": probability, "depth_packets": depth, "wait_ns": wait_ns}),),
        netem=None,  # its reordering lets packets overtake a delay
        schedule=Schedule(4_000, period_ns=_MS),
        size_bytes=_SMALL_BYTES,
        drain_ns=wait_ns + _GRACE_NS,
    )


def _steps() -> Case:
    steps: tuple[tuple[int, int], ...] = ((0, 10 * _MBIT), (300 * _MS, 2 * _MBIT), (1_000 * _MS, 20 * _MBIT))
    count = 1_000
    rate: Json = {"steps": [list(step) for step in steps]}
    return Case(
        name="rate 10, 2, 20 Mbit/s",
        law=VaryingRate(steps),
        stages=(Stage("rate", {"rate_bps": rate, "queue_bytes": _PLENTY_BYTES}),),
        netem=None,
        schedule=Schedule(count, per_group=count),
        size_bytes=_FULL_BYTES,
        drain_ns=2_000 * _MS,
    )


def _opportunities() -> Case:
    times_ms, period_ms, count = (1, 4, 4, 5), 8, 400
    runs: list[Json] = [[at_ms * _MS, times_ms.count(at_ms)] for at_ms in dict.fromkeys(times_ms)]
    trace: Json = {"opportunities": {"runs": runs, "bytes": _FULL_BYTES, "repeat_ns": period_ms * _MS}}
    return Case(
        name="a trace of opportunities",
        law=Opportunities(tuple(at_ms * _MS for at_ms in times_ms), period_ms * _MS),
        stages=(Stage("rate", {"rate_bps": trace, "queue_bytes": _PLENTY_BYTES}),),
        netem=None,
        schedule=Schedule(count, per_group=count),
        size_bytes=_FULL_BYTES,
        drain_ns=(count // len(times_ms) + 1) * period_ms * _MS + _GRACE_NS,
    )


def _codel() -> Case:
    """Twice what the link carries, for two seconds."""
    rate_bps, target_ns, interval_ns, count = 10 * _MBIT, 5 * _MS, 100 * _MS, 3_300
    parameters: dict[str, Json] = {
        "rate_bps": rate_bps,
        "target_ns": target_ns,
        "interval_ns": interval_ns,
        "queue_packets": count,
    }
    return Case(
        name="CoDel at 10 Mbit/s",
        law=ControlledDelay(rate_bps, target_ns, interval_ns),
        stages=(Stage("codel", parameters),),
        netem=None,
        schedule=Schedule(count, period_ns=607_000),
        size_bytes=_FULL_BYTES,
        drain_ns=3_000 * _MS,
    )


def _fair() -> Case:
    """2.4 times what the link carries, a quarter of it by the second flow."""
    rate_bps = 10 * _MBIT
    return Case(
        name="FQ-CoDel at 10 Mbit/s",
        law=FairShare(rate_bps, 4),
        stages=(Stage("fq_codel", {"rate_bps": rate_bps}),),
        netem=None,
        schedule=Schedule(4_000, period_ns=500_000),
        size_bytes=_FULL_BYTES,
        drain_ns=4_000 * _MS,
        one_in=4,
    )


def _red() -> Case:
    """1.2 times what the link carries."""
    rate_bps, minimum_bytes, maximum_bytes, probability = 10 * _MBIT, 30_000, 90_000, 0.2
    parameters: dict[str, Json] = {
        "rate_bps": rate_bps,
        "queue_bytes": 300_000,
        "minimum_bytes": minimum_bytes,
        "maximum_bytes": maximum_bytes,
        "probability": probability,
        "weight": 0.002,
    }
    return Case(
        name="RED at 10 Mbit/s",
        law=EarlyDrop(rate_bps, minimum_bytes, maximum_bytes, probability),
        stages=(Stage("red", parameters),),
        netem=None,
        schedule=Schedule(10_000, period_ns=1_000_000),
        size_bytes=_FULL_BYTES,
        drain_ns=500 * _MS,
    )


def _step() -> Case:
    """100 packets at once, of which the twelfth is the first that waits for longer than 10.5 packets' times."""
    rate_bps, count = 10 * _MBIT, 100
    threshold_ns = 21 * _FULL_BYTES * 8 * 1_000 // 10 // 2
    parameters: dict[str, Json] = {"rate_bps": rate_bps, "queue_packets": count, "threshold_ns": threshold_ns}
    return Case(
        name="step at 10 Mbit/s",
        law=StepMarks(rate_bps, threshold_ns),
        stages=(Stage("step", parameters),),
        netem=None,
        schedule=Schedule(count, per_group=count),
        size_bytes=_FULL_BYTES,
        drain_ns=count * _FULL_BYTES * 8 * 100 + _GRACE_NS,
        ecn=(2, 2),
    )


def _coupled(one_in: int) -> Case:
    """1.2 times what the link carries, all of it Classic, or one packet of `one_in` L4S."""
    rate_bps, target_ns, coupling = 10 * _MBIT, 15 * _MS, 2.0
    parameters: dict[str, Json] = {"rate_bps": rate_bps, "target_ns": target_ns, "coupling": coupling}
    return Case(
        name="DualPI2 at 10 Mbit/s, " + ("Classic and L4S" if one_in else "Classic"),
        law=Coupled(rate_bps, target_ns, coupling),
        stages=(Stage("dualpi2", parameters),),
        netem=None,
        schedule=Schedule(10_000, period_ns=1_000_000),
        size_bytes=_FULL_BYTES,
        drain_ns=500 * _MS,
        one_in=one_in,
        ecn=(0, 1),
    )


IMPAIRMENTS: tuple[Case, ...] = (
    _chance(
        "loss in two states, 1 % to bad, 25 % back",
        Gilbert(0.01, 0.25),
        "gilbert_elliott",
        {"good_to_bad": 0.01, "bad_to_good": 0.25},
        20_000,
    ),
    _chance("bursts of 5 from 0.2 %", Bursts(0.002, 5), "burst_loss", {"probability": 0.002, "packets": 5}, 20_000),
    _chance("2 % of packets corrupted", Bernoulli(0.02), "corrupt", {"probability": 0.02}, 10_000),
    _chance("5 % of packets doubled", Doubling(0.05), "duplicate", {"probability": 0.05}, 10_000),
    _jitter("normal"),
    _jitter("pareto"),
    _jitter("normal", 0.8),
    _displaced(),
    _steps(),
    _opportunities(),
    _codel(),
    _fair(),
    _red(),
    _step(),
    _coupled(0),
    _coupled(6),
)

CASES: tuple[Case, ...] = (*BASIC, *IMPAIRMENTS)

_TENTH_NS = 100_000

LIVE_CASES: tuple[Case, ...] = (
    *(case for case in CASES if isinstance(case.law, Bernoulli | Gilbert | Bursts | Doubling | Displacement)),
    *(case for case in BASIC if isinstance(case.law, DropTail) and case.law.rate_bps == 10 * _MBIT),
    uniform_jitter(2 * _MS, _MS),
    *(_jitter(law, correlation, _TENTH_NS) for law, correlation in (("normal", 0.0), ("pareto", 0.0), ("normal", 0.8))),
    *(case for case in CASES if isinstance(case.law, VaryingRate | Opportunities | FairShare)),
)
"""The cases in real time, which are quick and do not depend on the phase in which packets arrive."""
