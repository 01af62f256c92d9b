"""The stages of one direction, in the order in which a packet meets them (network.py says why in this order)."""

from collections.abc import Iterator, Mapping
from fractions import Fraction

from longlook.core import units
from longlook.core.model import Json, Scalar, Stage
from longlook.core.problems import SettingError
from longlook.network import trace_store, values
from longlook.network.loss import loss_stage
from longlook.network.varying import largest, mean, resolved, smallest, trace_of

PACKET_BYTES = 1500
"""The largest IP packet on the emulated path; a shorter queue could never hold one."""

BOTTLENECKS = ("rate", "codel", "fq_codel", "red")
"""Kinds of stages that have a rate."""

OFF = "off"
_NS_PER_S = 10**9
_NO_LIMIT = 2**32 - 1
_DUPLICATE_ACKS = 3  # packets that overtake one before senders take it for lost: RFC 5681 and RFC 9002
_SHORTEST_WAIT_NS = 10**6
_POLICER_BURST_S = Fraction(1, 10)
_POLICER_BURST_PACKETS = 10

# Floyd, "RED: Discussions of Setting Parameters" (1997): max_th three times min_th, max_p 0.1, w_q 0.002; Floyd (2000):
# gentle, which drops everything at twice max_th, so that max_th is half of the queue.
_RED_MAXIMUM, _RED_MINIMUM = Fraction(1, 2), Fraction(1, 6)
_RED = {"probability": 0.1, "weight": 0.002, "gentle": True}


def largest_rate_bps(stage: Stage) -> float:
    """The largest rate that one of BOTTLENECKS ever has."""
    return float(largest(resolved(stage, trace_store.load).parameters["rate_bps"]))


class Side:
    """The settings as they hold for one direction: `given` by the study and its preset, else `defaults`."""

    def __init__(self, direction: str, given: Mapping[str, Scalar], defaults: Mapping[str, Scalar]) -> None:
        self.direction = direction
        self._given, self._defaults = given, defaults

    def key(self, name: str) -> str:
        """The key that decides a setting here."""
        own = f"network.{self.direction}.{name}"
        return own if own in self._given else f"network.{name}"

    def given(self, name: str) -> bool:
        """Whether somebody has set it."""
        return self.key(name) in self._given

    def setting(self, name: str) -> Scalar | None:
        """Its value or default; None where it has neither."""
        return self._given.get(self.key(name), self._defaults.get(f"network.{name}"))

    def is_off(self, name: str) -> bool:
        """Whether a rule is not there."""
        return self.setting(name) in (None, OFF)

    def parameter(self, name: str, quantity: values.Quantity) -> Json:
        """Its value as the link's parameter, 0 where it is absent."""
        value = self.setting(name)
        return 0 if value is None else values.read(quantity, value).parameter

    def error(self, name: str, message: str) -> SettingError:
        """What is wrong with a setting."""
        return SettingError(self.key(name), message)


def in_full(parameter: Json) -> Json:
    """A parameter with its trace in place of the reference."""
    digest = trace_of(parameter)
    return parameter if digest is None else trace_store.load(digest)


def stages(side: Side, delay: Json, rtt_ns: Fraction, *, competing: bool) -> Iterator[Stage]:
    """All stages of a direction whose delay is `delay`; those that would do nothing are left out."""
    rate = side.parameter("rate", values.RATE)
    rate_bps = mean(in_full(rate))
    if side.direction == "up":
        yield from _nat(side)
    if access_ns := _access_ns(str(side.setting("access_delay")), rate_bps, competing=competing):
        yield Stage("access", {"max_ns": access_ns})
    yield from _middlebox(side)
    if (lossy := loss_stage(side.setting("loss"))) is not None:
        yield lossy
    for name, quantity in (("duplicate", values.DUPLICATE), ("corrupt", values.SHARE)):
        if probability := side.parameter(name, quantity):
            yield Stage(name, {"probability": probability})
    yield _bottleneck(side, rate, round(rate_bps), rtt_ns)
    yield Stage("delay", {"delay_ns": delay})
    yield from _jitter(side, delay)
    if probability := side.parameter("reorder", values.SHARE):
        yield _reorder(side, probability, rtt_ns)


def _nat(side: Side) -> Iterator[Stage]:
    if not side.is_off("rebind_at"):
        rebind_ns, repeat_ns = rebind_times(side.setting("rebind_at"))
        yield Stage("nat", {"rebind_ns": rebind_ns, **({"repeat_ns": repeat_ns} if repeat_ns else {})})


def _access_ns(access_delay: str, rate_bps: Fraction, *, competing: bool) -> int:
    """The longest processing time of a packet at its sender, 0 for none.

    `packet` is what the rate stage needs for the largest packet, rounded up: Floyd and Jacobson's recommendation.
    `auto` is that where several connections compete, which is where phase effects show (study phase-effects).
    """
    if access_delay == "auto":
        access_delay = "packet" if competing else OFF
    if access_delay == OFF:
        return 0
    if access_delay == "packet":
        return -(-(PACKET_BYTES * 8 * _NS_PER_S) // rate_bps)
    return units.parse_time(access_delay)


def _middlebox(side: Side) -> Iterator[Stage]:
    if not side.is_off("block"):
        yield Stage("block", {"protocol": str(side.setting("block"))})
    if not side.is_off("udp_rate"):
        rate = side.parameter("udp_rate", values.RATE_WITHOUT_TRACE)
        burst = side.parameter("udp_burst", values.SIZE)
        usual = max(round(mean(rate) * _POLICER_BURST_S / 8), _POLICER_BURST_PACKETS * PACKET_BYTES)
        yield Stage("police", {"protocol": "udp", "rate_bps": rate, "burst_bytes": burst or usual})
    if not side.is_off("udp_cutoff"):
        yield Stage("cutoff", {"protocol": "udp", "packets": int(side.setting("udp_cutoff") or 0)})
    if not side.is_off("drop_larger"):
        protocol, size_bytes = larger_than(side.setting("drop_larger"))
        yield Stage("size_filter", {"protocol": protocol, "minimum_bytes": size_bytes + 1})
    if not side.is_off("mtu"):
        tells = True if side.setting("mtu_icmp") is None else bool(side.setting("mtu_icmp"))
        yield Stage("mtu", {"mtu_bytes": side.parameter("mtu", values.SIZE), "icmp": tells})


def _bottleneck(side: Side, rate: Json, rate_bps: int, rtt_ns: Fraction) -> Stage:
    aqm = str(side.setting("aqm"))
    parameters: dict[str, Json] = {"rate_bps": rate, **_queue(side, aqm, rate_bps, rtt_ns)}
    if burst_bytes := side.parameter("burst", values.SIZE):
        parameters["burst_bytes"] = burst_bytes
    if side.setting("ecn"):
        parameters["ecn"] = True
    return Stage("rate" if aqm == "droptail" else aqm, parameters)


def _queue(side: Side, aqm: str, rate_bps: int, rtt_ns: Fraction) -> dict[str, Json]:
    if aqm in ("codel", "fq_codel") and not side.given("queue"):
        return {}  # the limits of Linux, which such a queue is not meant to meet
    value = side.setting("queue")
    if values.call(value) is not None:
        if aqm != "droptail":
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
    return {"queue_bytes": queue_bytes, **({} if aqm == "droptail" else {"queue_packets": _NO_LIMIT})}


def _constant_queue(side: Side, value: object, rate_bps: int, rtt_ns: Fraction) -> tuple[int, int | None]:
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


def _at_least_a_packet(side: Side, size_bytes: float) -> None:
    if size_bytes < PACKET_BYTES:
        raise side.error("queue", f"smaller than one packet ({PACKET_BYTES}B): the smallest queue is {PACKET_BYTES}B")


def _red(side: Side, queue_bytes: int) -> dict[str, Json]:
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


def _jitter(side: Side, delay: Json) -> Iterator[Stage]:
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
    yield Stage("jitter", parameters)


def _reorder(side: Side, probability: Json, rtt_ns: Fraction) -> Stage:
    depth = int(side.setting("reorder_depth") or _DUPLICATE_ACKS)
    wait_ns = side.parameter("reorder_wait", values.TIME) or max(round(rtt_ns), _SHORTEST_WAIT_NS)
    return Stage("reorder", {"probability": probability, "depth_packets": depth, "wait_ns": wait_ns})


def rebind_times(value: object) -> tuple[int, int]:
    """When a NAT gives new ports, and after how long again (0: never), of `5s` or `5s, repeat 10s`."""
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
    """Protocol and size of `1400B` (any) or `udp 1400B`."""
    first, _, rest = str(value).strip().partition(" ")
    return (first, units.parse_size(rest)) if first in PROTOCOLS else ("any", units.parse_size(value))


PROTOCOLS = ("udp", "tcp", "icmp", "any")
