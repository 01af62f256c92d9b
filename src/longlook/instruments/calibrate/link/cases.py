"""The cases of a calibration: a law, our link and the kernel's netem that follow it, and the packets to send.

Imported in the guest, so light. Sizes are bytes of IP packets, as the link counts them.
"""

from dataclasses import dataclass

from longlook.core.model import Stage

OURS, NETEM = "longlook", "netem"
EMULATORS = (OURS, NETEM)
PACKETS = "packets.csv"
"""The raw table as the guest writes it."""

_MS = 1_000_000
_MBIT = 1_000_000
_FULL_BYTES, _SMALL_BYTES = 1_500, 100
_GRACE_NS = 100 * _MS  # after the last packet must have come, in virtual time


@dataclass(frozen=True)
class Bottleneck:
    """Packets that come all at once leave one after the other at `rate_bps`."""

    rate_bps: int


@dataclass(frozen=True)
class Propagation:
    """Every packet arrives `delay_ns` after it was sent."""

    delay_ns: int


@dataclass(frozen=True)
class DropTail:
    """More comes than `rate_bps` carries, and `queue_bytes`, the packet in transmission included, hold the rest."""

    rate_bps: int
    queue_bytes: int


@dataclass(frozen=True)
class Bernoulli:
    """Each packet is lost with `probability`, independently of all others."""

    probability: float


@dataclass(frozen=True)
class UniformDelay:
    """Each packet is delayed by a draw of its own, uniform from `low_ns` to `high_ns`."""

    low_ns: int
    high_ns: int


@dataclass(frozen=True)
class Overtaking:
    """Two packets `spacing_ns` apart are delayed by independent draws, uniform over `width_ns`; the second may win."""

    spacing_ns: int
    width_ns: int


@dataclass(frozen=True)
class Gilbert:
    """Packets are lost in one of two states; each packet is followed by a change of state with these probabilities."""

    good_to_bad: float
    bad_to_good: float


@dataclass(frozen=True)
class Bursts:
    """At a packet outside of a burst one begins with `probability` and takes `packets` packets."""

    probability: float
    packets: int


@dataclass(frozen=True)
class RandomDelay:
    """A delay of this mean and deviation: `normal`, or `pareto` of shape 3; `correlation` from packet to packet."""

    law: str
    mean_ns: int
    deviation_ns: int
    correlation: float = 0.0


@dataclass(frozen=True)
class Doubling:
    """Each packet comes twice with `probability`."""

    probability: float


@dataclass(frozen=True)
class Displacement:
    """With `probability`, a packet waits until `depth` later ones have passed it."""

    probability: float
    depth: int


@dataclass(frozen=True)
class VaryingRate:
    """Packets that come all at once leave as the rate of the moment carries them: from each time on, in bits/s."""

    steps: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Opportunities:
    """At each of these times of a period one packet may leave."""

    times_ns: tuple[int, ...]
    period_ns: int


@dataclass(frozen=True)
class ControlledDelay:
    """More comes than `rate_bps` carries; CoDel (RFC 8289) drops from the head."""

    rate_bps: int
    target_ns: int
    interval_ns: int


@dataclass(frozen=True)
class FairShare:
    """Flow 1 sends one packet of `one_in`, flow 0 the others, each more than half of `rate_bps`: each gets half."""

    rate_bps: int
    one_in: int


@dataclass(frozen=True)
class EarlyDrop:
    """RED: more comes than `rate_bps` carries, and the mean queue settles where just so much is dropped."""

    rate_bps: int
    minimum_bytes: int
    maximum_bytes: int
    probability: float


@dataclass(frozen=True)
class StepMarks:
    """ECN-capable packets that come all at once: those that will wait for longer than `threshold_ns` are marked."""

    rate_bps: int
    threshold_ns: int


@dataclass(frozen=True)
class Coupled:
    """More comes than `rate_bps` carries, in flow 0, which is Classic; flow 1, if there is one, is L4S.

    The coupled queue drops Classic packets with p'², so that what is left fits and waits for `target_ns`, and marks
    L4S packets with `coupling` times p' (RFC 9332, 2.1).
    """

    rate_bps: int
    target_ns: int
    coupling: float


Chance = Bernoulli | Gilbert | Bursts | Doubling
Delay = Propagation | UniformDelay | Overtaking | RandomDelay | Displacement
Queue = (
    Bottleneck | DropTail | VaryingRate | Opportunities | ControlledDelay | FairShare | EarlyDrop | StepMarks | Coupled
)
Law = Chance | Delay | Queue


@dataclass(frozen=True)
class Schedule:
    """The times of sending: a group of `per_group` packets each `period_ns`, its packets `spacing_ns` apart."""

    count: int
    period_ns: int = 0
    per_group: int = 1
    spacing_ns: int = 0

    def offsets_ns(self) -> list[int]:
        """Return the time of each packet, in ns from the first."""
        groups = (divmod(number, self.per_group) for number in range(self.count))
        return [group * self.period_ns + place * self.spacing_ns for group, place in groups]


@dataclass(frozen=True)
class Netem:
    """Settings of the kernel's netem. `limit_packets` bounds everything that it holds; rates count IP bytes."""

    limit_packets: int
    rate_bps: int = 0  # 0: no rate
    delay_ns: int = 0
    jitter_ns: int = 0
    loss: float = 0.0


@dataclass(frozen=True)
class Case:
    """One measurement: packets and the link that they pass. After `drain_ns` no packet can still be on its way.

    `netem` is None if the kernel's emulator lacks the law, or has another one of that name. The last of each `one_in`
    packets belongs to another flow. `ecn` is the codepoint of each flow's packets.
    """

    name: str
    law: Law
    stages: tuple[Stage, ...]
    netem: Netem | None
    schedule: Schedule
    size_bytes: int
    drain_ns: int
    one_in: int = 0
    ecn: tuple[int, int] = (0, 0)

    def flow(self, sequence: int) -> int:
        """Return the flow of a packet: 0 or 1."""
        return int(self.one_in > 0 and sequence % self.one_in == self.one_in - 1)


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
