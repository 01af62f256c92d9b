"""Settings of queues that mark and of middleboxes that rewrite marks, as parameters of the link's stages. Pure.

`dualpi2` and `step` mark whatever can be marked; `dualpi2_…` and `step_threshold` are their parameters. `ecn_remark`
and `ecn_remark_behind` are a middlebox that writes another ECN codepoint, before the bottleneck and behind it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from longlook.core import Json, Scalar, Stage, nearest, units

DUALPI2, STEP = "dualpi2", "step"
MARKING = (DUALPI2, STEP)
"""Disciplines that always mark: for them `ecn` has nothing to switch."""

PROTOCOLS = ("udp", "tcp", "icmp", "any")
RULES = ("bleach", "ce_to_ect0", "ect0_to_ect1", "ect1_to_ect0", "all_ce")
"""The changes that a middlebox may make to the codepoints; docs/reference/link.md explains each."""

REMARK, REMARK_BEHIND = "ecn_remark", "ecn_remark_behind"

_MOST_HZ, _MOST_COUPLING, _MOST_PACKETS = 1_000_000, 64, 1_000_000
_SCHEDULERS, _OVERLOADS = ("weighted", "time_shifted"), ("drop", "overflow")
_USUAL_THRESHOLD = "1ms"


@dataclass(frozen=True)
class _Parameter:
    name: str
    canonical: Callable[[object], Scalar]
    number: Callable[[Scalar], Json]


def _number(most: int) -> Callable[[object], Scalar]:
    def canonical(value: object) -> Scalar:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
            raise units.UnitError(f"write a number from 0 to {most}")
        return float(value)

    return canonical


def _word(allowed: tuple[str, ...]) -> Callable[[object], Scalar]:
    def canonical(value: object) -> Scalar:
        if value not in allowed:
            raise units.UnitError(f"allowed: {', '.join(allowed)}{nearest(str(value), list(allowed))}")
        return str(value)

    return canonical


def _time(value: object) -> Scalar:
    return units.print_time(units.parse_time(value))


def _some_time(value: object) -> Scalar:
    if not (time_ns := units.parse_time(value)):
        raise units.UnitError("must be above 0s")
    return units.print_time(time_ns)


def _share(value: object) -> Scalar:
    return units.print_share(units.parse_share(value))


def _count(value: object) -> Scalar:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST_PACKETS:
        raise units.UnitError(f"write a number of packets, from 0 to {_MOST_PACKETS}")
    return value


def _ns(value: Scalar) -> Json:
    return units.parse_time(value)


def _float(value: Scalar) -> Json:
    return float(value)


def _part(value: Scalar) -> Json:
    return float(units.parse_share(value))


def _as_is(value: Scalar) -> Json:
    return value


_DUALPI2: Mapping[str, _Parameter] = {
    "dualpi2_target": _Parameter("target_ns", _some_time, _ns),
    "dualpi2_update": _Parameter("update_ns", _some_time, _ns),
    "dualpi2_alpha": _Parameter("alpha_hz", _number(_MOST_HZ), _float),
    "dualpi2_beta": _Parameter("beta_hz", _number(_MOST_HZ), _float),
    "dualpi2_coupling": _Parameter("coupling", _number(_MOST_COUPLING), _float),
    "dualpi2_step": _Parameter("step_ns", _time, _ns),
    "dualpi2_step_packets": _Parameter("step_packets", _count, _as_is),
    "dualpi2_scheduler": _Parameter("scheduler", _word(_SCHEDULERS), _as_is),
    "dualpi2_protection": _Parameter("protection", _share, _part),
    "dualpi2_shift": _Parameter("shift_ns", _time, _ns),
    "dualpi2_overload": _Parameter("overload", _word(_OVERLOADS), _as_is),
}


def _threshold(value: object) -> Scalar:
    try:
        return units.print_time(_positive(units.parse_time(value)))
    except units.UnitError as no_time:
        try:
            queue = units.parse_queue(value)
        except units.UnitError:
            raise units.UnitError(f"{no_time}; or a queue that a packet meets: 30KB, 20packets") from no_time
    if queue.bdp is not None or not (queue.size_bytes or queue.packets):
        raise units.UnitError("must be above 0: a time (1ms), a size (30KB) or a number of packets (20packets)")
    return units.print_queue(queue)


def _positive(time_ns: int) -> int:
    if not time_ns:
        raise units.UnitError("must be above 0s")
    return time_ns


def _remark(value: object) -> Scalar:
    if value == "off":
        return "off"
    protocol, rule = _rule(value)
    return rule if protocol == "any" else f"{protocol} {rule}"


def _rule(value: object) -> tuple[str, str]:
    """Return protocol and rule of `bleach` (any) or `tcp ect0_to_ect1`; UnitError names what is allowed."""
    first, _, rest = str(value).strip().partition(" ")
    protocol, rule = (first, rest.strip()) if first in PROTOCOLS else ("any", str(value).strip())
    if rule not in RULES:
        protocols = ", ".join(PROTOCOLS)
        raise units.UnitError(
            f'allowed: {", ".join(RULES)}, or "off"; a protocol ({protocols}) may stand before it'
            f"{nearest(rule, list(RULES))}"
        )
    return protocol, rule


SETTINGS: Mapping[str, Callable[[object], Scalar]] = {
    **{name: parameter.canonical for name, parameter in _DUALPI2.items()},
    "step_threshold": _threshold,
    REMARK: _remark,
    REMARK_BEHIND: _remark,
}
"""Setting → its canonical form, or UnitError."""

NEEDS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(_DUALPI2, ("aqm", DUALPI2)),
    "step_threshold": ("aqm", STEP),
}
"""The setting that each of these needs, and an example of it."""

BY_PARAMETER: Mapping[str, str] = {
    **{parameter.name: name for name, parameter in _DUALPI2.items()},
    **dict.fromkeys(("threshold_ns", "threshold_bytes", "threshold_packets"), "step_threshold"),
}
"""Parameter of a stage → the setting that makes it."""


def queue_parameters(aqm: str, setting: Callable[[str], Scalar | None]) -> dict[str, Json]:
    """Return the parameters of a queue that marks, as far as the settings give them; {} for another discipline."""
    if aqm == STEP:
        return _threshold_parameter(setting("step_threshold") or _USUAL_THRESHOLD)
    if aqm != DUALPI2:
        return {}
    given = {name: setting(name) for name in _DUALPI2}
    return {_DUALPI2[name].name: _DUALPI2[name].number(value) for name, value in given.items() if value is not None}


def _threshold_parameter(value: Scalar) -> dict[str, Json]:
    try:
        return {"threshold_ns": units.parse_time(value)}
    except units.UnitError:
        queue = units.parse_queue(value)
    return {"threshold_packets": queue.packets} if queue.packets else {"threshold_bytes": queue.size_bytes}


def remark_stage(value: Scalar) -> Stage:
    """Return the middlebox that a setting in canonical form describes; not of `off`."""
    protocol, rule = _rule(value)
    return Stage("ecn_remark", {"protocol": protocol, "rule": rule})
