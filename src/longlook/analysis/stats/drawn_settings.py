"""Settings that rounds draw, in words: their names, their values with units, and how an effect depends on them."""

import math
from collections.abc import Mapping

from longlook.core import BEHIND, SECOND, Dependence, Shape, as_main, link_of

_MINUS = "\u2212"
_NAMES: Mapping[str, str] = {
    "network.rtt": "round trip time",
    "network.rate": "rate",
    "network.queue": "queue",
    "workload.object": "object's size",
    "start_phase": "start phase",
    "order": "order of requests",
    "certificate": "certificate's padding",
    "network.udp_rate": "rate of UDP",
    "network.udp_burst": "burst of UDP",
    "network.reorder": "reordered share",
    "network.duplicate": "duplicated share",
    "network.corrupt": "corrupted share",
}
_LINKS: Mapping[str, str] = {BEHIND: "the link behind the middle", SECOND: "the second path"}
_UNITS: Mapping[str, str] = {"ms": "ms", "mbit": "Mbit/s", "bytes": "B", "pct": "%"}
_THOUSANDS = ((1e6, "MB"), (1e3, "KB"))


def name_of(setting: str) -> str:
    """Return what people call a drawn setting, such as `round trip time` for `network.rtt_ms`."""
    key = _split(setting)[0]
    if link := link_of(key):
        return f"{name_of(as_main(key))} of {_LINKS[link]}"
    return _NAMES.get(key, key.removeprefix("network.").replace("_", " "))


def scale_of(setting: str, largest: float) -> tuple[float, str]:
    """Return the number by which values are divided to be read, and the unit after that: (1000.0, "KB")."""
    unit = _split(setting)[1]
    if unit == "B":
        return next(((factor, name) for factor, name in _THOUSANDS if abs(largest) >= factor), (1.0, unit))
    return 1.0, unit


def quantity(setting: str, value: float) -> str:
    """Return a drawn value with its unit: `35.2 ms`, `98.5 KB`."""
    factor, unit = scale_of(setting, value)
    return f"{value / factor:.5g} {unit}".rstrip()


def sentence(item: Dependence) -> str:
    """Return how the effect depends on the setting, the greater values first:
    `depends on the object's size: +52 % from about 95 KB, +46 % below`.
    """
    low, high = item.ends.low, item.ends.high
    verb = "changes sign with" if low is not None and high is not None and low * high < 0 else "depends on"
    at_low, at_high = _effects(item.ends.unit, low, high)
    if item.shape is Shape.STEP and item.split is not None:
        amounts = f"{at_high} from about {quantity(item.setting, item.split)}, {at_low} below"
    else:
        ends = quantity(item.setting, item.high), quantity(item.setting, item.low)
        amounts = f"{at_high} at {ends[0]}, {at_low} at {ends[1]}, a line between them"
    return f"{verb} the {name_of(item.setting)}: {amounts}"


def _effects(unit: str, *effects: float | None) -> list[str]:
    """Return effects with their sign, with as many decimals as show that they differ."""
    known = [effect for effect in effects if effect is not None]
    apart = max(known) - min(known) if len(known) > 1 else 0.0
    decimals = 0 if apart >= 2 else 1 if apart >= 0.2 else 2
    if unit != "%" and 0 < apart < 0.2:
        decimals = 1 - math.floor(math.log10(apart))
    return [
        "an effect too large to compute" if effect is None else f"{effect:+.{decimals}f} {unit}".replace("-", _MINUS)
        for effect in effects
    ]


def _split(setting: str) -> tuple[str, str]:
    """Return the setting's key and its unit; one without a unit that is known is all key."""
    key, _, suffix = setting.rpartition("_")
    return (key, _UNITS[suffix]) if suffix in _UNITS else (setting, "")
