"""Networks as a command line writes them: presets, settings, or bare values with a unit. Pure."""

import re
from collections.abc import Callable, Iterable, Mapping

from longlook.core import InputError, Scalar, nearest, units
from longlook.network import PRESET, PRESETS
from longlook.study.files import toml_value

_COMMA = re.compile(r",(?![^()]*\))")


def parse_networks(texts: Iterable[str]) -> dict[str, dict[str, Scalar]]:
    """Return every `--on` as settings by dotted key; the text is the label."""
    found: dict[str, dict[str, Scalar]] = {}
    for text in texts:
        if text.strip() in found:
            raise InputError(f"--on {text}: given twice")
        found[text.strip()] = parse_network(text)
    return found


def parse_network(text: str) -> dict[str, Scalar]:
    """Return settings by dotted key from a preset's name, settings such as `rate=10mbit,rtt=36ms`, bare values such as
    `10mbit,36ms,1bdp,1%`, or a mixture of these."""
    settings: dict[str, Scalar] = {}
    for part in (part.strip() for part in _COMMA.split(text)):
        name, equals, value = part.partition("=")
        key = f"network.{name.strip().removeprefix('network.')}" if equals else _kind_of(part, text)
        if key in settings:
            raise InputError(f"--on {text}: {key} is set twice")
        settings[key] = toml_value(value.strip()) if equals else part
    return settings


def _kind_of(value: str, text: str) -> str:
    """Return the setting that a value without a name makes, by its unit."""
    if value in PRESETS:
        return PRESET
    for key, parse in _UNITS.items():
        try:
            parse(value)
        except units.UnitError:
            continue
        return key
    raise InputError(
        f"--on {text}: {value!r} is neither a preset nor a value with a unit{nearest(value, list(PRESETS))}",
        "presets: longlook link presets; or write for example rate=10mbit,rtt=36ms,queue=1bdp,loss=1%",
    )


_UNITS: Mapping[str, Callable[[str], object]] = {
    "network.rate": units.parse_rate,
    "network.rtt": units.parse_time,
    "network.queue": units.parse_queue,
    "network.loss": lambda value: units.parse_share(value if value.endswith("%") else ""),
}
"""Settings that a bare value may make, in the order in which its unit is tried; a bare number makes none."""
