"""Randomness of plans, and the laws of a round's draws: settings of a neighbourhood, their units and lattices. Pure.

`rank` and `uniform` are the same on every machine and version of Python, and independent for different names.

    uniform 5%       of a rate, time, size or share: uniform over the values from 5 % below to 5 % above
    uniform 100ms    of the start phase: uniform from 0 to below that
    uniform 400B     of the certificate: uniform over lengths from its own to that much more
    uniform          of the order of requests: all orders alike

A value is drawn from a lattice inside its bounds, each point with the same probability, so that what is drawn can be
written in few digits and lies nowhere outside.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from longlook.core import BESIDE_MAIN, SettingError, allowed, as_further, codec, units

STANDARD, NONE = "standard", "none"

START_PHASE, ORDER, CERTIFICATE = "start_phase", "order", "certificate"
RTT, RATE_OF, QUEUE, OBJECT = "network.rtt", "network.rate", "network.queue", "workload.object"

PHASE_STEP_NS = 32_000
"""The step of start phases: 125 units of a guest's clock, so that its sleeps end on them exactly."""
PADDING_STEP_BYTES = 50
"""The step of a certificate's padding, so that few certificates serve all trials."""

_LONGEST_PHASE_NS = 60 * 10**9
_LARGEST_PADDING_BYTES = 8_000
_STEPS_EACH_SIDE = 200
_UNIFORM = "uniform"


SEED_BITS = 63


@dataclass(frozen=True)
class DrawnQuantity:
    """A kind of value that is drawn about what the cell has.

    `number` reads it in its base unit; `text` writes a number like another text, which matters if units are not
    exchangeable; `step` is the lattice about a text of that half width. `column` ends the name of its column in the
    samples, whose unit is `scale` base units.
    """

    number: Callable[[str], Fraction]
    text: Callable[[str, Fraction], str]
    step: Callable[[str, Fraction], Fraction]
    column: str
    scale: int


def _decimal_step(_: str, half_width: Fraction) -> Fraction:
    """Return the largest power of ten that divides a half width into _STEPS_EACH_SIDE steps or more."""
    step = Fraction(10) ** math.floor(math.log10(half_width / _STEPS_EACH_SIDE))
    while step * _STEPS_EACH_SIDE > half_width:  # the logarithm is rounded
        step /= 10
    return step


def _whole_step(like: str, half_width: Fraction) -> Fraction:
    return max(Fraction(1), _decimal_step(like, half_width))


def _queue_step(like: str, half_width: Fraction) -> Fraction:
    return Fraction(1) if units.parse_queue(like).bdp is None else _decimal_step(like, half_width)


def _queue_number(text: str) -> Fraction:
    queue = units.parse_queue(text)
    return queue.bdp if queue.bdp is not None else Fraction(queue.packets or queue.size_bytes or 0)


def _queue_text(like: str, number: Fraction) -> str:
    """Return a queue of that number in the unit of another: bytes, packets, or bandwidth-delay products."""
    queue = units.parse_queue(like)
    if queue.bdp is not None:
        return units.print_queue(units.Queue(bdp=number))
    if queue.packets is not None:
        return units.print_queue(units.Queue(packets=round(number)))
    return units.print_queue(units.Queue(size_bytes=round(number)))


RATE = DrawnQuantity(
    lambda text: Fraction(units.parse_rate(text)),
    lambda _, bps: units.print_rate(round(bps)),
    _whole_step,
    "_mbit",
    10**6,
)
TIME = DrawnQuantity(
    lambda text: Fraction(units.parse_time(text)),
    lambda _, time_ns: units.print_time(round(time_ns)),
    _whole_step,
    "_ms",
    10**6,
)
SIZE = DrawnQuantity(
    lambda text: Fraction(units.parse_size(text)),
    lambda _, size_bytes: units.print_size(round(size_bytes)),
    lambda _, __: Fraction(1),
    "_bytes",
    1,
)
SHARE = DrawnQuantity(units.parse_share, lambda _, share: units.print_share(share), _decimal_step, "_pct", 1)
LENGTH = DrawnQuantity(_queue_number, _queue_text, _queue_step, "_bytes", 1)
"""The length of a queue, in bytes, packets or bandwidth-delay products."""

_OF_MAIN: Mapping[str, DrawnQuantity] = {
    RTT: TIME,
    "network.rate": RATE,
    QUEUE: LENGTH,
    OBJECT: SIZE,
    "network.loss": SHARE,
    "network.jitter": TIME,
    "network.burst": SIZE,
    "network.reorder": SHARE,
    "network.reorder_wait": TIME,
    "network.duplicate": SHARE,
    "network.corrupt": SHARE,
    "network.udp_rate": RATE,
    "network.udp_burst": SIZE,
}
QUANTITIES: Mapping[str, DrawnQuantity] = {
    **_OF_MAIN,
    **{
        as_further(name, setting): quantity
        for name in BESIDE_MAIN
        for setting, quantity in _OF_MAIN.items()
        if setting != OBJECT
    },
}
"""Settings that are drawn about what the cell has, in the order in which they are shown."""

SETTINGS = (*QUANTITIES, START_PHASE, ORDER, CERTIFICATE)
"""Everything that a round may draw."""

STANDARD_LAWS: Mapping[str, str] = {
    **dict.fromkeys((RTT, "network.rate", QUEUE, OBJECT), "uniform 5%"),
    START_PHASE: "uniform 100ms",
    ORDER: _UNIFORM,
    CERTIFICATE: "uniform 400B",
}


def standard_laws(links: Iterable[str]) -> dict[str, str]:
    """Return the standard laws of a study with these further links, which are drawn as far as the main one."""
    of_links = {
        as_further(name, setting): STANDARD_LAWS[setting] for name in links for setting in (RTT, RATE_OF, QUEUE)
    }
    return {**STANDARD_LAWS, **of_links}


def law(setting: str, value: object) -> str:
    """Return the canonical text of a law; SettingError, with the key `around.SETTING`, for a value that is no law."""
    key = f"around.{setting}"
    if setting not in SETTINGS:
        raise SettingError(key, f"nothing that a round can draw; {allowed(setting, SETTINGS)}")
    example = STANDARD_LAWS.get(setting, STANDARD_LAWS[RTT])
    if not isinstance(value, str) or not value.strip():
        raise SettingError(key, f'write a law and its width, for example "{example}"')
    name, _, width = value.strip().partition(" ")
    if name != _UNIFORM:
        raise SettingError(key, f'unknown law {name!r}; {allowed(name, [_UNIFORM])}, for example "{example}"')
    if setting == ORDER:
        if width:
            raise SettingError(key, 'all orders are alike, so this law has no width: write "uniform"')
        return _UNIFORM
    try:
        return f"{_UNIFORM} {_width(setting, width.strip())}"
    except units.UnitError as error:
        raise SettingError(key, f'{error}; for example "{example}"') from error


def _width(setting: str, width: str) -> str:
    if setting == START_PHASE:
        time_ns = units.parse_time(width)
        if not PHASE_STEP_NS <= time_ns <= _LONGEST_PHASE_NS:
            least, most = units.print_time(PHASE_STEP_NS), units.print_time(_LONGEST_PHASE_NS)
            raise units.UnitError(f"start phases span from {least} to {most}")
        return units.print_time(time_ns)
    if setting == CERTIFICATE:
        size_bytes = units.parse_size(width)
        if not PADDING_STEP_BYTES <= size_bytes <= _LARGEST_PADDING_BYTES:
            raise units.UnitError(f"a certificate grows by {PADDING_STEP_BYTES} to {_LARGEST_PADDING_BYTES} bytes")
        return units.print_size(size_bytes)
    share = units.parse_share(width)
    if not 0 < share < 1:
        raise units.UnitError("a width lies above 0% and below 100%, where the value itself would be gone")
    return units.print_share(share)


def width_of(text: str) -> str:
    """Return the width of a law in canonical form."""
    return text.removeprefix(_UNIFORM).strip()


def lattice(quantity: DrawnQuantity, text: str, width: Fraction) -> tuple[int, int, Fraction]:
    """Return the first and the last point about a value, as multiples of a step, and that step."""
    nominal = quantity.number(text)
    step = quantity.step(text, nominal * width)
    return math.ceil(nominal * (1 - width) / step), math.floor(nominal * (1 + width) / step), step


def point(first: int, last: int, share: float) -> int:
    """Return a point from `first` to `last`, all alike if `share` is uniform from 0 to below 1."""
    return first + int(share * (last - first + 1))


def rank(*parts: str | int) -> int:
    """Return a number below 2**63, uniform and independent for different parts."""
    digest = hashlib.sha256(codec.canonical(parts).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - SEED_BITS)


def uniform(*parts: str | int) -> float:
    """Return a number from 0 to below 1, uniform and independent for different parts."""
    return (rank(*parts) >> (SEED_BITS - 53)) / 2**53
