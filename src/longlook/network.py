"""Settings of the network as a Link: what people write (rate, RTT, queue, loss, jitter) as stages per direction.

Stages stand in the order a packet meets them: access (the sender), loss, rate with its drop-tail queue, delay, jitter.
A stage that does nothing is left out, but rate and delay are always there. Parameters: docs/link-formats.md.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction

from longlook import units
from longlook.model import Link, Scalar, Stage
from longlook.study_errors import SettingError

PACKET_BYTES = 1500
"""The largest IP packet on the emulated path; a shorter queue could never hold one."""

CONNECTIONS = "workload.connections"
"""How many connections the client opens at once, in workloads that have such a parameter."""

_NS_PER_S = 10**9
_OFF, _PACKET, _AUTO = "off", "packet", "auto"


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise units.UnitError("write true or false")
    return value


def _access_delay(value: object) -> Scalar:
    if value in (_OFF, _PACKET, _AUTO):
        return str(value)
    try:
        return units.print_time(max_ns) if (max_ns := units.parse_time(value)) else _OFF
    except units.UnitError as error:
        raise units.UnitError(f'{error}; or "{_OFF}", "{_PACKET}" or "{_AUTO}"') from error


_SHARED: Mapping[str, Callable[[object], Scalar]] = {
    "rate": lambda value: units.print_rate(units.parse_rate(value)),
    "queue": lambda value: units.print_queue(units.parse_queue(value)),
    "loss": lambda value: units.print_share(units.parse_share(value)),
    "jitter": lambda value: units.print_time(units.parse_time(value)),
    "jitter_reorders": _truth,
    "access_delay": _access_delay,
}


def _canonical_time(value: object) -> Scalar:
    return units.print_time(units.parse_time(value))


SETTINGS: Mapping[str, Callable[[object], Scalar]] = {
    **{f"network.{name}": check for name, check in _SHARED.items()},
    "network.rtt": _canonical_time,
    **{
        f"network.{direction}.{name}": check
        for direction in ("up", "down")
        for name, check in {**_SHARED, "delay": _canonical_time}.items()
    },
}
"""Every setting of the network and what brings a value into its canonical form (UnitError where it cannot be)."""

DEFAULTS: Mapping[str, Scalar] = {
    "network.queue": "1bdp",
    "network.loss": "0%",
    "network.jitter": "0ns",
    "network.jitter_reorders": False,
    "network.access_delay": _AUTO,
}
_EXAMPLES = {"network.rate": "10Mbit", "network.rtt": "36ms"}
"""Of the settings without a default."""


def link(settings: Mapping[str, Scalar]) -> Link:
    """The emulated path of resolved settings (canonical values, defaults filled in); SettingError where it cannot be.

    `1bdp` is the direction's rate times the path's round-trip delay (both directions' delays together).
    """
    delays_ns = {direction: _delay_ns(settings, direction) for direction in ("up", "down")}
    rtt_ns = sum(delays_ns.values())
    up, down = (_stages(settings, direction, delays_ns[direction], rtt_ns) for direction in ("up", "down"))
    return Link(up=up, down=down)


def _key(settings: Mapping[str, Scalar], direction: str, name: str) -> str:
    own = f"network.{direction}.{name}"
    return own if own in settings else f"network.{name}"


def _required(settings: Mapping[str, Scalar], key: str) -> Scalar:
    if key not in settings:
        raise SettingError(key, f'missing: write for example {key} = "{_EXAMPLES[key]}"', absent=True)
    return settings[key]


def _delay_ns(settings: Mapping[str, Scalar], direction: str) -> int:
    own = settings.get(f"network.{direction}.delay")
    if own is not None:
        return units.parse_time(own)
    rtt_ns = units.parse_time(_required(settings, "network.rtt"))
    # An odd nanosecond goes up, so that both directions together are the RTT.
    return rtt_ns // 2 + (rtt_ns % 2 if direction == "up" else 0)


def _stages(settings: Mapping[str, Scalar], direction: str, delay_ns: int, rtt_ns: int) -> tuple[Stage, ...]:
    def setting(name: str) -> Scalar:
        return _required(settings, _key(settings, direction, name))

    rate_bps = units.parse_rate(setting("rate"))
    stages: list[Stage] = []
    competing = int(settings.get(CONNECTIONS, 1)) > 1
    access_ns = _access_ns(str(setting("access_delay")), rate_bps, competing=competing)
    if access_ns:
        stages.append(Stage("access", {"max_ns": access_ns}))
    loss = units.parse_share(setting("loss"))
    if loss:
        stages.append(Stage("loss", {"probability": float(loss)}))
    queue_bytes = _queue_bytes(settings, direction, rate_bps, rtt_ns)
    stages.append(Stage("rate", {"rate_bps": rate_bps, "queue_bytes": queue_bytes}))
    stages.append(Stage("delay", {"delay_ns": delay_ns}))
    jitter_ns = units.parse_time(setting("jitter"))
    if jitter_ns > delay_ns:
        raise SettingError(
            _key(settings, direction, "jitter"),
            f"jitter varies the delay of each direction by ± that much, and the delay {direction} is only "
            f"{units.print_time(delay_ns)} (half the RTT unless network.{direction}.delay says otherwise): "
            "lower the jitter or raise network.rtt",
        )
    if jitter_ns:
        stages.append(Stage("jitter", {"jitter_ns": jitter_ns, "reorder": bool(setting("jitter_reorders"))}))
    return tuple(stages)


def _access_ns(access_delay: str, rate_bps: int, *, competing: bool) -> int:
    """The longest processing time of a packet at its sender, 0 for none.

    `packet` is what the rate stage needs for the largest packet, rounded up: Floyd and Jacobson's recommendation.
    `auto` is that where several connections compete, which is where phase effects show (study phase-effects).
    """
    if access_delay == _AUTO:
        access_delay = _PACKET if competing else _OFF
    if access_delay == _OFF:
        return 0
    if access_delay == _PACKET:
        return -(-PACKET_BYTES * 8 * _NS_PER_S // rate_bps)
    return units.parse_time(access_delay)


def _queue_bytes(settings: Mapping[str, Scalar], direction: str, rate_bps: int, rtt_ns: int) -> int:
    key = _key(settings, direction, "queue")
    queue = units.parse_queue(settings[key])
    if queue.bdp is not None:
        if not queue.bdp:
            raise SettingError(key, "a queue of no bytes drops everything; the smallest is 1500B (one packet)")
        return max(PACKET_BYTES, round(queue.bdp * Fraction(rate_bps * rtt_ns, 8 * _NS_PER_S)))
    size_bytes = queue.size_bytes or 0
    if size_bytes < PACKET_BYTES:
        raise SettingError(key, f"smaller than one packet ({PACKET_BYTES}B): the smallest queue is {PACKET_BYTES}B")
    return size_bytes
