"""Settings of the network as a Link: rate, RTT, queue, loss, jitter and so on become the stages of each direction.

Stages stand in the order in which a packet meets them, the same in both directions:

1. nat (`up` alone): the client's own router, before anything else sees the packet's ports.
2. access: the sender.
3. ecn_remark, block, police, cutoff, size_filter, mtu: a middlebox. It stands before the bottleneck, so that packets
   which it drops take no room in the queue. A policer then sees the sender's bursts as they are, and the queue sees the
   ECN codepoints that the middlebox wrote. The MTU is last, so that a packet which is blocked causes no ICMP message.
4. surgery: a packet that it drops fares as one that random loss takes, so that it stands where loss begins.
5. loss (one of its laws), duplicate, corrupt. They stand before the bottleneck: lost packets take no room in the queue,
   copies and damaged packets do.
6. the bottleneck: rate with a drop-tail queue, codel, fq_codel, red, dualpi2 or step; then ecn_remark again
   (`ecn_remark_behind`): a middlebox there sees the queue's marks and may clear them.
7. delay, then jitter, which varies it, then reorder: last, because a queue must not follow a stage that reorders.

A stage that does nothing is left out, except bottleneck and delay. A setting at its default adds no stage and no
parameter, so an older study keeps the stages that it had. If a rate varies, `1bdp` and an access delay of `packet` use
its mean. Parameters: docs/reference/link-formats.md.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from longlook.core import Json, Link, Scalar, SettingError, nearest, units
from longlook.network import marks, surgery, values
from longlook.network.ip import IP, ip_text
from longlook.network.loss import loss_text
from longlook.network.presets import PRESET, PRESETS, with_preset
from longlook.network.router_check import violation_of
from longlook.network.stages import (
    AQMS,
    OFF,
    PROTOCOLS,
    DirectionSettings,
    MadeStage,
    in_full,
    larger_than,
    rebind_times,
    stages,
)
from longlook.network.varying import mean

_NEEDS: Mapping[str, tuple[str, str]] = {
    "reorder_depth": ("reorder", "1%"),
    "reorder_wait": ("reorder", "1%"),
    "reorder_above": ("reorder", "1%"),
    "jitter_law": ("jitter", "5ms"),
    "jitter_correlation": ("jitter", "5ms"),
    "jitter_above": ("jitter", "5ms"),
    "loss_above": ("loss", "1%"),
    "mtu_icmp": ("mtu", "1400B"),
    "mtu_claimed": ("mtu", "1400B"),
    "udp_burst": ("udp_rate", "1Mbit"),
    **marks.NEEDS,
}
"""The setting that each of these needs, and an example of it. It may be off, as a level of a factor."""
CONNECTIONS = "workload.connections"
"""The number of connections that the client opens at once, in workloads that have such a parameter."""
FLOWS_START = "workload.start"
"""Only workloads whose flows may compete have it: in compete flows start then, in video playing starts with so much."""

_PACKET, _AUTO = "packet", "auto"
JITTER_LAWS = ("uniform", "normal", "pareto")
_MOST_PACKETS = 1_000_000


def check_together(up: DirectionSettings, down: DirectionSettings, given: Mapping[str, Scalar]) -> None:
    """Raise SettingError if settings exclude each other, or if one lacks another that it needs."""
    named = {key.rpartition(".")[2] for key in given}
    for name, (other, example) in _NEEDS.items():
        for side in (up, down) if name in named else ():
            key = side.key(name)
            sides = (side,) if key.startswith(f"network.{side.direction}.") else (up, down)
            if key in given and not any(one.given(other) for one in sides):
                beside = key.removesuffix(name) + other
                raise SettingError(key, f'has no effect without {beside}: write for example {beside} = "{example}"')
    for side in (up, down):
        _check_ecn(side)
        if not side.is_off("mtu_claimed") and side.setting("mtu_icmp") is False:
            raise side.error("mtu_claimed", f"{side.key('mtu_icmp')} = false sends no message that could claim a size")
        _check_block(side)


def check_rtt(settings: Mapping[str, Scalar]) -> None:
    """Raise SettingError if there is a round trip and also a delay of each direction.

    `settings` are the study's without its preset's, because the round trip of a preset may be overridden.
    """
    if "network.rtt" in settings and all(f"network.{direction}.delay" in settings for direction in ("up", "down")):
        raise SettingError(
            "network.rtt", "has no effect beside network.up.delay and network.down.delay: leave it out, or one of them"
        )


def _check_ecn(side: DirectionSettings) -> None:
    if side.setting("ecn") and side.setting("aqm") == "droptail":
        raise side.error(
            "ecn",
            'a drop-tail queue never marks; allowed with aqm = "codel", "fq_codel" or "red"; '
            "dualpi2 and step always mark",
        )
    if (aqm := side.setting("aqm")) in marks.MARKING and side.given("ecn") and not side.setting("ecn"):
        raise side.error("ecn", f"{aqm} signals by marks and cannot do without: leave ecn out, or choose another aqm")


def _check_block(side: DirectionSettings) -> None:
    if side.setting("block") not in ("udp", "any"):
        return
    for name in ("udp_rate", "udp_cutoff"):
        if side.setting(name) not in (None, OFF):
            raise side.error(name, f'{side.key("block")} = "{side.setting("block")}" lets no UDP pass anyway')


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise units.UnitError("write true or false")
    return value


def _choice(allowed: Iterable[str]) -> Callable[[object], Scalar]:
    names = list(allowed)

    def canonical(value: object) -> Scalar:
        if value not in names:
            raise units.UnitError(f"allowed: {', '.join(names)}{nearest(str(value), names)}")
        return str(value)

    return canonical


def _varying(quantity: values.Quantity) -> Callable[[object], Scalar]:
    return lambda value: values.read(quantity, value).text


def _or_off(read: Callable[[object], Scalar]) -> Callable[[object], Scalar]:
    def canonical(value: object) -> Scalar:
        if value == OFF:
            return OFF
        try:
            return read(value)
        except units.UnitError as error:
            raise units.UnitError(f'{error}; or "{OFF}"') from error

    return canonical


def _access_delay(value: object) -> Scalar:
    if value in (OFF, _PACKET, _AUTO):
        return str(value)
    try:
        return units.print_time(max_ns) if (max_ns := units.parse_time(value)) else OFF
    except units.UnitError as error:
        raise units.UnitError(f'{error}; or "{OFF}", "{_PACKET}" or "{_AUTO}"') from error


def _queue(value: object) -> Scalar:
    if values.call(value) is not None:
        return values.read(values.QUEUE, value).text
    return units.print_queue(units.parse_queue(value))


def _correlation(value: object) -> Scalar:
    share = units.parse_share(value)
    if share == 1:
        raise units.UnitError("a correlation lies between 0% and less than 100%, where nothing would ever change")
    return units.print_share(share)


def _packets(value: object) -> Scalar:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST_PACKETS:
        text = str(value).removesuffix("packets").removesuffix("packet").strip() if isinstance(value, str) else ""
        if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= _MOST_PACKETS):
            raise units.UnitError(f"write a number of packets, from 1 to {_MOST_PACKETS}")
        return int(text)
    return value


def _some_time(value: object) -> Scalar:
    if not (time_ns := units.parse_time(value)):
        raise units.UnitError("must be above 0s")
    return units.print_time(time_ns)


def _some_size(value: object) -> Scalar:
    if not (size_bytes := units.parse_size(value)):
        raise units.UnitError("must be above 0B")
    return units.print_size(size_bytes)


def _drop_larger(value: object) -> Scalar:
    try:
        protocol, size_bytes = larger_than(value)
    except units.UnitError as error:
        raise units.UnitError(f"{error}; a protocol ({', '.join(PROTOCOLS)}) may stand before it") from error
    size = units.print_size(size_bytes)
    return size if protocol == "any" else f"{protocol} {size}"


def _rebind_at(value: object) -> Scalar:
    rebind_ns, repeat_ns = rebind_times(value)
    first = units.print_time(rebind_ns)
    return f"{first}, repeat {units.print_time(repeat_ns)}" if repeat_ns else first


_SHARED: Mapping[str, Callable[[object], Scalar]] = {
    "rate": _varying(values.RATE),
    "queue": _queue,
    "aqm": _choice(AQMS),
    "ecn": _truth,
    "burst": lambda value: units.print_size(units.parse_size(value)),
    "loss": loss_text,
    "loss_above": _or_off(_some_size),
    "jitter": _varying(values.JITTER),
    "jitter_law": _choice(JITTER_LAWS),
    "jitter_correlation": _correlation,
    "jitter_reorders": _truth,
    "jitter_above": _or_off(_some_size),
    "access_delay": _access_delay,
    "reorder": _varying(values.SHARE),
    "reorder_depth": _packets,
    "reorder_wait": _some_time,
    "reorder_above": _or_off(_some_size),
    "duplicate": _varying(values.DUPLICATE),
    "corrupt": _varying(values.SHARE),
    "mtu": _or_off(_varying(values.SIZE)),
    "mtu_icmp": _truth,
    "mtu_claimed": _or_off(_some_size),
    "block": _choice((OFF, *PROTOCOLS)),
    "udp_rate": _or_off(_varying(values.RATE_WITHOUT_TRACE)),
    "udp_burst": _some_size,
    "udp_cutoff": _or_off(_packets),
    "drop_larger": _or_off(_drop_larger),
    **marks.SETTINGS,
}

SETTINGS: Mapping[str, Callable[[object], Scalar]] = {
    PRESET: _choice(PRESETS),
    IP: ip_text,
    **{f"network.{name}": check for name, check in _SHARED.items()},
    "network.rtt": _varying(values.TIME),
    "network.rebind_at": _or_off(_rebind_at),
    "network.nat_timeout": _or_off(_some_time),
    **{f"{surgery.PREFIX}{direction}": surgery.surgery_text for direction in ("up", "down")},
    **{
        f"network.{direction}.{name}": check
        for direction in ("up", "down")
        for name, check in {**_SHARED, "delay": _varying(values.DELAY)}.items()
    },
}
"""Every setting of the network with a function that returns a value's canonical form, or raises UnitError."""

DEFAULTS: Mapping[str, Scalar] = {
    "network.queue": "1bdp",
    "network.aqm": "droptail",
    "network.loss": "0%",
    "network.jitter": "0ns",
    "network.jitter_reorders": False,
    "network.access_delay": _AUTO,
}
"""Defaults of the settings that always matter; the others are off, or have the default of docs/reference/studies.md."""

_EXAMPLES = {**dict.fromkeys(("network.rate", "network.up.rate", "network.down.rate"), "10Mbit"), "network.rtt": "36ms"}
"""Examples of the settings without a default."""


def complete(settings: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the settings with preset and defaults filled in, for people to read."""
    return {**DEFAULTS, **with_preset(settings)}


def link(settings: Mapping[str, Scalar]) -> Link:
    """Return the emulated path of settings in canonical form.

    `1bdp` is the direction's rate times the path's round-trip delay (both directions' delays together), each its mean.
    Raise SettingError, which names the setting, if the settings make no path or one that the router refuses.
    """
    made = _made(settings)
    found = _link_of(made)
    if (violation := violation_of(found)) is not None:
        side = DirectionSettings(violation.direction, with_preset(settings), DEFAULTS)
        raise side.error(made[violation.direction][violation.stage].setting_of(violation.parameter), violation.message)
    return found


def unchecked_link(settings: Mapping[str, Scalar]) -> Link:
    """Return the path of settings without asking the router whether it can be emulated."""
    return _link_of(_made(settings))


def _made(settings: Mapping[str, Scalar]) -> dict[str, list[MadeStage]]:
    """Return the stages of each direction with the settings that made them."""
    given = with_preset(settings)
    up, down = (DirectionSettings(direction, given, DEFAULTS) for direction in ("up", "down"))
    for side in (up, down):
        _require(_rate_key(side, given), given)
    check_together(up, down, given)
    check_rtt(settings)
    delays = {side.direction: _delay(side, given) for side in (up, down)}
    rtt_ns = sum((mean(in_full(delay)) for delay in delays.values()), Fraction(0))
    competing = int(settings.get(CONNECTIONS, 1)) > 1 or FLOWS_START in settings
    return {
        side.direction: list(stages(side, delays[side.direction], rtt_ns, competing=competing)) for side in (up, down)
    }


def _link_of(made: Mapping[str, Sequence[MadeStage]]) -> Link:
    up, down = (tuple(one.stage for one in made[direction]) for direction in ("up", "down"))
    return Link(up=up, down=down)


def _rate_key(side: DirectionSettings, given: Mapping[str, Scalar]) -> str:
    """Return the key of a direction's rate: its own if the other direction has one and this one has none."""
    other = f"network.{'down' if side.direction == 'up' else 'up'}.rate"
    return f"network.{side.direction}.rate" if other in given and not side.given("rate") else side.key("rate")


def _require(key: str, given: Mapping[str, Scalar]) -> Scalar:
    if key not in given:
        preset = PRESETS.get(str(given.get(PRESET)))
        why = f" (preset {preset.name} gives none: its source has none)" if preset and key in preset.needs else ""
        raise SettingError(key, f'missing{why}: write for example {key} = "{_EXAMPLES[key]}"', absent=True)
    return given[key]


def _delay(side: DirectionSettings, given: Mapping[str, Scalar]) -> Json:
    own = given.get(f"network.{side.direction}.delay")
    if own is not None:
        return values.read(values.DELAY, own).parameter
    rtt = values.read(values.TIME, _require("network.rtt", given)).parameter
    return values.halved(rtt, up=side.direction == "up")
