"""The stages of one direction, in the order in which a packet meets them; `settings` has the reasons of the order."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from longlook.core import BOTTLENECKS, RATE, Json, Scalar, SettingError, Stage, trace_of, units
from longlook.network import marks, surgery, trace_store, values
from longlook.network.loss import loss_stage
from longlook.network.varying import largest, mean, resolved, smallest

PACKET_BYTES = 1500
"""The largest IP packet on the emulated path; a shorter queue could never hold one."""

_DROP_TAIL = "droptail"
AQMS = (_DROP_TAIL, *(kind for kind in BOTTLENECKS if kind != RATE))
"""How a queue may be managed. A drop-tail queue is the stage `rate`; each other one is a stage of its own name."""

LIMITED_BY_LINUX = ("codel", "fq_codel", marks.DUALPI2)
"""Disciplines whose default queue is Linux's, which a path is not meant to fill."""

OFF = "off"
PROTOCOLS = marks.PROTOCOLS
_NS_PER_S = 10**9
_NO_LIMIT = 2**32 - 1
_DUPLICATE_ACKS = 3  # packets that overtake one before senders take it for lost: RFC 5681 and RFC 9002
_SHORTEST_WAIT_NS = 10**6
_ABOVE = "above_bytes"
_POLICER_BURST_S = Fraction(1, 10)
_POLICER_BURST_PACKETS = 10

# Floyd, "RED: Discussions of Setting Parameters" (1997): max_th three times min_th, max_p 0.1, w_q 0.002; Floyd (2000):
# gentle, which drops everything at twice max_th, so that max_th is half of the queue.
_RED_MAXIMUM, _RED_MINIMUM = Fraction(1, 2), Fraction(1, 6)
_RED = {"probability": 0.1, "weight": 0.002, "gentle": True}


def largest_rate_bps(stage: Stage) -> float:
    """Return the largest rate in bit/s that a stage of BOTTLENECKS ever has."""
    return float(largest(resolved(stage, trace_store.load).parameters["rate_bps"]))


@dataclass(frozen=True)
class MadeStage:
    """A stage and the name of the setting that made it; `by_parameter` has the setting of each parameter that another
    setting made.
    """

    stage: Stage
    setting: str
    by_parameter: Mapping[str, str] = field(default_factory=dict)

    def setting_of(self, parameter: str | None) -> str:
        """Return the name of the setting that made a parameter, or the stage if it is None."""
        return self.by_parameter.get(parameter or "", self.setting)


class DirectionSettings:
    """The settings as they hold for one direction: `given` by the study and its preset, else `defaults`."""

    def __init__(self, direction: str, given: Mapping[str, Scalar], defaults: Mapping[str, Scalar]) -> None:
        self.direction = direction
        self._given, self._defaults = given, defaults

    def key(self, name: str) -> str:
        """Return the key that decides a setting in this direction."""
        if name == surgery.KIND:
            return f"{surgery.PREFIX}{self.direction}"
        own = f"network.{self.direction}.{name}"
        return own if own in self._given else f"network.{name}"

    def given(self, name: str) -> bool:
        """Return whether the study or its preset sets it."""
        return self.key(name) in self._given

    def setting(self, name: str) -> Scalar | None:
        """Return its value or default, or None if it has neither."""
        return self._given.get(self.key(name), self._defaults.get(f"network.{name}"))

    def is_off(self, name: str) -> bool:
        """Return whether a rule is switched off."""
        return self.setting(name) in (None, OFF)

    def parameter(self, name: str, quantity: values.Quantity) -> Json:
        """Return its value as the link's parameter, or 0 if it is absent."""
        value = self.setting(name)
        return 0 if value is None else values.read(quantity, value).parameter

    def error(self, name: str, message: str) -> SettingError:
        """Return the error of a setting, which names its key."""
        return SettingError(self.key(name), message)


def in_full(parameter: Json) -> Json:
    """Return a parameter with its trace in the place of the reference."""
    digest = trace_of(parameter)
    return parameter if digest is None else trace_store.load(digest)


def stages(side: DirectionSettings, delay: Json, rtt_ns: Fraction, *, competing: bool) -> Iterator[MadeStage]:
    """Yield the stages of a direction whose delay is `delay`; stages that would do nothing are left out."""
    rate = side.parameter("rate", values.RATE)
    rate_bps = mean(in_full(rate))
    if side.direction == "up":
        yield from _nat(side)
    if access_ns := _access_ns(str(side.setting("access_delay")), rate_bps, competing=competing):
        yield MadeStage(Stage("access", {"max_ns": access_ns}), "access_delay")
    yield from _middlebox(side)
    if (operations := surgery.surgery_stage(side.setting(surgery.KIND) or OFF)) is not None:
        yield MadeStage(operations, surgery.KIND)
    yield from _loss(side)
    for name, quantity in (("duplicate", values.DUPLICATE), ("corrupt", values.SHARE)):
        if probability := side.parameter(name, quantity):
            yield MadeStage(Stage(name, {"probability": probability}), name)
    yield _bottleneck(side, rate, round(rate_bps), rtt_ns)
    yield from _remark(side, marks.REMARK_BEHIND)
    yield MadeStage(Stage("delay", {"delay_ns": delay}), "delay" if side.given("delay") else "rtt")
    yield from _jitter(side, delay)
    if probability := side.parameter("reorder", values.SHARE):
        yield MadeStage(
            _reorder(side, probability, rtt_ns),
            "reorder",
            {"depth_packets": "reorder_depth", "wait_ns": "reorder_wait", _ABOVE: "reorder_above"},
        )


def _above(side: DirectionSettings, name: str) -> dict[str, Json]:
    """Return the parameter by which a stage concerns larger packets alone, or none if it concerns all."""
    return {} if side.is_off(name) else {_ABOVE: side.parameter(name, values.SIZE)}


def _loss(side: DirectionSettings) -> Iterator[MadeStage]:
    if (lossy := loss_stage(side.setting("loss"))) is None:
        return
    above = _above(side, "loss_above")
    if above and lossy.kind != "loss":
        raise side.error(
            "loss_above", f'needs losses that are independent, such as {side.key("loss")} = "1%"; or write "{OFF}"'
        )
    yield MadeStage(Stage(lossy.kind, {**lossy.parameters, **above}), "loss", {_ABOVE: "loss_above"})


def _nat(side: DirectionSettings) -> Iterator[MadeStage]:
    if not side.is_off("rebind_at"):
        rebind_ns, repeat_ns = rebind_times(side.setting("rebind_at"))
        yield MadeStage(
            Stage("nat", {"rebind_ns": rebind_ns, **({"repeat_ns": repeat_ns} if repeat_ns else {})}), "rebind_at"
        )
    if not side.is_off("nat_timeout"):
        yield MadeStage(Stage("nat_timeout", {"timeout_ns": side.parameter("nat_timeout", values.TIME)}), "nat_timeout")


def _access_ns(access_delay: str, rate_bps: Fraction, *, competing: bool) -> int:
    """Return the longest processing time of a packet at its sender in ns, or 0 for none.

    `packet` is the time of the largest packet at the rate, rounded up: Floyd and Jacobson's recommendation. `auto` is
    that if several connections compete, because only then phase effects show (study phase-effects).
    """
    if access_delay == "auto":
        access_delay = "packet" if competing else OFF
    if access_delay == OFF:
        return 0
    if access_delay == "packet":
        return -(-(PACKET_BYTES * 8 * _NS_PER_S) // rate_bps)
    return units.parse_time(access_delay)


def _remark(side: DirectionSettings, name: str) -> Iterator[MadeStage]:
    if not side.is_off(name):
        yield MadeStage(marks.remark_stage(side.setting(name) or OFF), name)


def _middlebox(side: DirectionSettings) -> Iterator[MadeStage]:
    yield from _remark(side, marks.REMARK)
    if not side.is_off("block"):
        yield MadeStage(Stage("block", {"protocol": str(side.setting("block"))}), "block")
    if not side.is_off("udp_rate"):
        rate = side.parameter("udp_rate", values.RATE_WITHOUT_TRACE)
        burst = side.parameter("udp_burst", values.SIZE)
        usual = max(round(mean(rate) * _POLICER_BURST_S / 8), _POLICER_BURST_PACKETS * PACKET_BYTES)
        police = Stage("police", {"protocol": "udp", "rate_bps": rate, "burst_bytes": burst or usual})
        yield MadeStage(police, "udp_rate", {"burst_bytes": "udp_burst"})
    if not side.is_off("udp_cutoff"):
        yield MadeStage(
            Stage("cutoff", {"protocol": "udp", "packets": int(side.setting("udp_cutoff") or 0)}), "udp_cutoff"
        )
    if not side.is_off("drop_larger"):
        protocol, size_bytes = larger_than(side.setting("drop_larger"))
        yield MadeStage(Stage("size_filter", {"protocol": protocol, "minimum_bytes": size_bytes + 1}), "drop_larger")
    if not side.is_off("mtu"):
        icmp = True if side.setting("mtu_icmp") is None else bool(side.setting("mtu_icmp"))
        parameters: dict[str, Json] = {"mtu_bytes": side.parameter("mtu", values.SIZE), "icmp": icmp}
        if not side.is_off("mtu_claimed"):
            parameters["claimed_bytes"] = side.parameter("mtu_claimed", values.SIZE)
        yield MadeStage(Stage("mtu", parameters), "mtu", {"icmp": "mtu_icmp", "claimed_bytes": "mtu_claimed"})


_BOTTLENECK_SETTINGS = {
    "rate_bps": "rate",
    "burst_bytes": "burst",
    "ecn": "ecn",
    **marks.BY_PARAMETER,
    **dict.fromkeys(("queue_bytes", "queue_packets", "minimum_bytes", "maximum_bytes"), "queue"),
}


def _bottleneck(side: DirectionSettings, rate: Json, rate_bps: int, rtt_ns: Fraction) -> MadeStage:
    aqm = str(side.setting("aqm"))
    parameters: dict[str, Json] = {"rate_bps": rate, **_queue(side, aqm, rate_bps, rtt_ns)}
    if burst_bytes := side.parameter("burst", values.SIZE):
        parameters["burst_bytes"] = burst_bytes
    parameters |= marks.queue_parameters(aqm, side.setting)
    if side.setting("ecn") and aqm not in marks.MARKING:
        parameters["ecn"] = True
    if aqm == _DROP_TAIL:
        return MadeStage(Stage("rate", parameters), "rate", _BOTTLENECK_SETTINGS)
    return MadeStage(Stage(aqm, parameters), "aqm", _BOTTLENECK_SETTINGS)


def _queue(side: DirectionSettings, aqm: str, rate_bps: int, rtt_ns: Fraction) -> dict[str, Json]:
    if aqm in LIMITED_BY_LINUX and not side.given("queue"):
        return {}  # the limits of Linux, which such a queue is not meant to meet
    value = side.setting("queue")
    if values.call(value) is not None:
        if aqm != _DROP_TAIL:
            raise side.error("queue", f'varies, which {aqm} cannot; allowed: one length, or aqm = "droptail"')
        queue = values.read(values.QUEUE, value).parameter
        if trace_of(queue) is not None:
            return {"queue_packets": queue}  # TheaterQ counts packets
        _at_least_a_packet(side, smallest(queue))
        return {"queue_bytes": queue}
    queue_bytes, queue_packets = _constant_queue(side, value, rate_bps, rtt_ns)
    if aqm == "red":
        return _red(side, queue_bytes if queue_packets is None else queue_packets * PACKET_BYTES)
    if queue_packets is not None:
        return {"queue_packets": queue_packets}
    return {"queue_bytes": queue_bytes, **({} if aqm == _DROP_TAIL else {"queue_packets": _NO_LIMIT})}


def _constant_queue(side: DirectionSettings, value: object, rate_bps: int, rtt_ns: Fraction) -> tuple[int, int | None]:
    queue = units.parse_queue(value)
    if queue.bdp is not None:
        if not queue.bdp:
            raise side.error("queue", "a queue of no bytes drops everything; the smallest is 1500B (one packet)")
        return max(PACKET_BYTES, round(queue.bdp * rate_bps * rtt_ns / (8 * _NS_PER_S))), None
    if queue.packets is not None:
        if not queue.packets:
            raise side.error("queue", "a queue of no packets drops everything; the smallest is 1packets")
        return 0, queue.packets
    _at_least_a_packet(side, queue.size_bytes or 0)
    return queue.size_bytes or 0, None


def _at_least_a_packet(side: DirectionSettings, size_bytes: float) -> None:
    if size_bytes < PACKET_BYTES:
        raise side.error("queue", f"smaller than one packet ({PACKET_BYTES}B): the smallest queue is {PACKET_BYTES}B")


def _red(side: DirectionSettings, queue_bytes: int) -> dict[str, Json]:
    minimum_bytes = round(queue_bytes * _RED_MINIMUM)
    if minimum_bytes < PACKET_BYTES:
        shortest = int(PACKET_BYTES / _RED_MINIMUM)
        raise side.error(
            "queue",
            f"{queue_bytes} bytes are too few for red, whose lower threshold is a sixth of the queue and at least one "
            f"packet; allowed: from {units.print_size(shortest)}",
        )
    thresholds = {"minimum_bytes": minimum_bytes, "maximum_bytes": round(queue_bytes * _RED_MAXIMUM)}
    return {"queue_bytes": queue_bytes, **thresholds, **_RED}


def _jitter(side: DirectionSettings, delay: Json) -> Iterator[MadeStage]:
    jitter = side.parameter("jitter", values.JITTER)
    if not jitter:
        return
    longest_ns, delay_ns = largest(in_full(jitter)), largest(in_full(delay))
    if longest_ns > delay_ns:
        raise side.error(
            "jitter",
            f"jitter varies the delay of each direction by ± that much, and the delay {side.direction} is only "
            f"{units.print_time(int(delay_ns))} (half the RTT unless network.{side.direction}.delay says otherwise): "
            "lower the jitter or raise network.rtt",
        )
    parameters: dict[str, Json] = {"jitter_ns": jitter, "reorder": bool(side.setting("jitter_reorders"))}
    if (law := side.setting("jitter_law")) not in (None, "uniform"):
        parameters["law"] = str(law)
    if correlation := side.parameter("jitter_correlation", values.SHARE):
        parameters["correlation"] = correlation
    parameters |= _above(side, "jitter_above")
    details = {
        _ABOVE: "jitter_above",
        "law": "jitter_law",
        "correlation": "jitter_correlation",
        "reorder": "jitter_reorders",
    }
    yield MadeStage(Stage("jitter", parameters), "jitter", details)


def _reorder(side: DirectionSettings, probability: Json, rtt_ns: Fraction) -> Stage:
    depth = int(side.setting("reorder_depth") or _DUPLICATE_ACKS)
    wait_ns = side.parameter("reorder_wait", values.TIME) or max(round(rtt_ns), _SHORTEST_WAIT_NS)
    above = _above(side, "reorder_above")
    return Stage("reorder", {"probability": probability, "depth_packets": depth, "wait_ns": wait_ns, **above})


def rebind_times(value: object) -> tuple[int, int]:
    """Return when a NAT gives new ports and how often again (0: never), in ns, from `5s` or `5s, repeat 10s`."""
    first, comma, again = str(value).partition(",")
    if not comma:
        return units.parse_time(first.strip()), 0
    if not again.strip().startswith("repeat"):
        raise units.UnitError("write a time, or a time and how often: 5s, repeat 10s")
    repeat_ns = units.parse_time(again.strip().removeprefix("repeat").strip())
    if repeat_ns == 0:
        raise units.UnitError("repeat 0s would never end: write for example repeat 10s")
    return units.parse_time(first.strip()), repeat_ns


def larger_than(value: object) -> tuple[str, int]:
    """Return protocol and size in bytes of `1400B` (any) or `udp 1400B`."""
    first, _, rest = str(value).strip().partition(" ")
    return (first, units.parse_size(rest)) if first in PROTOCOLS else ("any", units.parse_size(value))
