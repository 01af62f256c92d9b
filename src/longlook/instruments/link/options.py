"""Options of `longlook link` as settings of the network, and those as a Link.

Settings are as in a study (docs/reference/studies.md), with two differences, because a command line is shorter than
a study. An option that is not given does nothing (no rate: unlimited, no RTT: no delay). With a rate but no RTT, whose
1bdp would be no queue at all, the queue is 100 packets.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from longlook.core import BOTTLENECKS, InputError, Link, Scalar, SettingError, Stage, allowed, units
from longlook.network import KIND
from longlook.network import settings as network

DIRECTIONS = ("up", "down")
_PRESET, _RATE, _RTT, _QUEUE = "network.preset", "network.rate", "network.rtt", "network.queue"
_QUEUE_WITHOUT_RTT = "150KB"
_ANY_RATE = {"rate": "1Gbit", "queue": "1MB"}  # stands in for a rate while the rest is checked, then goes
_OF_THE_RATE = ("queue", "aqm", "ecn", "burst")
_ACCESS_DELAY = "access_delay"
_TRUTHS: Mapping[str, Scalar] = {"true": True, "false": False}


@dataclass(frozen=True)
class Given:
    """One setting as it was given: its option, key and text."""

    option: str
    key: str
    text: str


@dataclass(frozen=True)
class Emulation:
    """A link to run, and the settings that describe it, as given and in canonical form."""

    link: Link
    settings: Mapping[str, Scalar]
    shown: str


def given_options(
    named: Mapping[str, str | None],
    *,
    trace: str | None = None,
    up: Sequence[str] = (),
    down: Sequence[str] = (),
    more: Sequence[str] = (),
) -> list[Given]:
    """Return all given settings in one list; raise InputError if one is not KEY=VALUE, or given twice."""
    given = [
        Given(f"--{name.replace('.', '-')}", f"network.{name}", text)
        for name, text in named.items()
        if text is not None
    ]
    if trace is not None:
        given.append(Given("--trace", _RATE, f"trace({trace})"))
    for direction, pairs in zip(DIRECTIONS, (up, down), strict=True):
        given += [_pair(f"--{direction}", f"network.{direction}.", pair, "rate=1mbit") for pair in pairs]
    given += [_pair("--set", "network.", pair, "jitter_law=normal") for pair in more]
    seen: dict[str, Given] = {}
    for setting in given:
        if setting.key in seen:
            raise InputError(
                f"{setting.option} sets {setting.key} again, after {seen[setting.key].option}", "give it once"
            )
        seen[setting.key] = setting
    return given


def emulation(given: Iterable[Given]) -> Emulation:
    """Return the link of the given settings; InputError names the option that is wrong and what is allowed."""
    by_key = {setting.key: setting for setting in given}
    settings = {key: _canonical(setting) for key, setting in by_key.items()}
    shown = ", ".join(f"{key.removeprefix('network.')} {_shown(by_key[key], settings[key])}" for key in settings)
    for direction in DIRECTIONS:
        _check_rate(settings, direction, by_key)
    try:
        link = network.link({**_stand_ins(settings), **settings})
    except SettingError as error:
        raise _as_input_error(error, by_key) from error
    return Emulation(_complete(link, settings), settings, shown or "no settings: packets pass without delay or limit")


def _pair(option: str, prefix: str, pair: str, example: str) -> Given:
    key, equals, value = pair.partition("=")
    if not equals or not key.strip():
        raise InputError(f"{option} {pair}: not KEY=VALUE", f"write for example {option} {example}")
    name = key.strip().removeprefix(prefix).removeprefix("network.")
    return Given(f"{option} {name}", f"{prefix}{name}", value.strip())


def _canonical(setting: Given) -> Scalar:
    if setting.key not in network.SETTINGS:
        prefix, _, name = setting.key.rpartition(".")
        known = [key.rpartition(".")[2] for key in network.SETTINGS if key.rpartition(".")[0] == prefix]
        raise InputError(
            f"{setting.option}: unknown; {allowed(name, known)}", "docs/reference/studies.md explains each setting"
        )
    try:
        return network.SETTINGS[setting.key](_TRUTHS.get(setting.text, setting.text))
    except units.UnitError as error:
        raise InputError(f"{setting.option} {setting.text}: {error}".replace("--trace trace(", "--trace (")) from error


def _shown(setting: Given, canonical: Scalar) -> str:
    # A trace's canonical form is a digest, which means nothing to people.
    return setting.text if "trace(" in setting.text else _text(canonical)


def _text(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _has_rate(settings: Mapping[str, Scalar], direction: str) -> bool:
    return bool({_PRESET, _RATE, f"network.{direction}.rate"} & settings.keys())


def _stand_ins(settings: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the stand-ins for a rate or an RTT that was not given."""
    if _PRESET in settings:
        return {}
    stand_ins: dict[str, Scalar] = {}
    if _RTT not in settings and not all(f"network.{direction}.delay" in settings for direction in DIRECTIONS):
        stand_ins[_RTT] = "0ns"
        if not any(f"network.{direction}.delay" in settings for direction in DIRECTIONS):
            stand_ins[_QUEUE] = _QUEUE_WITHOUT_RTT
    for direction in DIRECTIONS:
        if not _has_rate(settings, direction):
            stand_ins |= {f"network.{direction}.{name}": value for name, value in _ANY_RATE.items()}
            if settings.get(f"network.{_ACCESS_DELAY}") == "packet":  # of the other direction, which has a rate
                stand_ins[f"network.{direction}.{_ACCESS_DELAY}"] = "off"
    return stand_ins


def _check_rate(settings: Mapping[str, Scalar], direction: str, by_key: Mapping[str, Given]) -> None:
    if _has_rate(settings, direction):
        return
    for name in (*_OF_THE_RATE, _ACCESS_DELAY):
        for key in (f"network.{direction}.{name}", f"network.{name}"):
            if key not in by_key or (key == f"network.{name}" and _has_rate(settings, _other(direction))):
                continue
            if name == _ACCESS_DELAY:
                if settings[key] == "packet":
                    problem = f"{by_key[key].option} packet needs a rate: it is the time of a packet at that rate"
                    raise InputError(problem, "add --rate 10mbit, or write a time, such as 500us")
                continue
            raise InputError(
                f"{by_key[key].option} needs a rate: nothing queues where nothing is slow", "add --rate 10mbit"
            )


def _other(direction: str) -> str:
    return DIRECTIONS[1 - DIRECTIONS.index(direction)]


def _complete(link: Link, settings: Mapping[str, Scalar]) -> Link:
    """Return the link without the bottleneck that stands in for a missing rate, in each direction."""

    def stages(direction: str, made: tuple[Stage, ...]) -> tuple[Stage, ...]:
        kept = made if _has_rate(settings, direction) else [stage for stage in made if stage.kind not in BOTTLENECKS]
        return tuple(kept)

    return Link(up=stages("up", link.up), down=stages("down", link.down))


def _as_input_error(error: SettingError, by_key: Mapping[str, Given]) -> InputError:
    option = by_key[error.key].option if error.key in by_key else _option_of(error.key)
    return InputError(
        f"{option}: {error.message}",
        "docs/guide/link-tool.md lists the options, docs/reference/studies.md the settings",
    )


def _option_of(key: str) -> str:
    parts = key.split(".")
    if len(parts) == 3:
        return f"--surgery-{parts[2]}" if parts[1] == KIND else f"--{parts[1]} {parts[2]}"
    return f"--{parts[1]}" if parts[1] in ("rate", "rtt", "queue", "loss", "jitter") else f"--set {parts[-1]}"
