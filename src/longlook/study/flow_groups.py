"""Flows of an arm where several compete: groups as a study sets them, and the flows that each round draws. Pure."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from longlook.core import (
    DURATION,
    EITHER,
    MOST_ADDRESS_SLOTS,
    Arm,
    ConnectionState,
    Flow,
    Scalar,
    SettingError,
    allowed,
    find_protocol,
    units,
)
from longlook.network import call
from longlook.study import tcp
from longlook.study.arm_settings import ArmSettings
from longlook.study.catalogue import Catalogue
from longlook.study.laws import uniform
from longlook.study.resolve import FlowSetup, resolve_flow_setup
from longlook.study.settings import (
    FLOW_PREFIX,
    KNOB_PREFIXES,
    SERVER_CONFIG,
    WORKLOAD_PREFIX,
    endpoint_setting,
    is_flow_setting,
    start_setting,
)

START = f"{WORKLOAD_PREFIX}start"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,30}")
_PARETO = "pareto"
_SHAPE = re.compile(r"\s*[0-9]{1,2}(\.[0-9]{0,20})?\s*")
_ENDPOINT = (
    *("protocol", "connection", "server", SERVER_CONFIG, "client"),
    *(tcp.CONGESTION_CONTROL, "tcp_initial_window"),
)
"""Settings of an arm that each of its groups may have for itself; the other settings of TCP are the host's."""
_TCP_KEYS = (tcp.CONGESTION_CONTROL, tcp.PRESET, *tcp.SETTINGS)
_OF_DOWNLOADS = ("object", "cross", "arrivals")
_PLAYERS_START = "random(1s)"
"""When a player starts: workload video has a `start` of its own, the buffer with which playing begins."""
_MOST_ARRIVALS = 400
_SMALLEST_DRAWN, _LARGEST_DRAWN = 1_000, 1_024_000 * 4  # bytes; between them powers of two of the smallest


@dataclass(frozen=True)
class Size:
    """Bytes that a flow fetches: fixed, or of a Pareto law with this mean if `shape` is given."""

    bytes: int
    shape: float | None = None


@dataclass(frozen=True)
class FlowGroup:
    """Flows of one kind in one arm and cell. Their random parts are drawn for each round (`draw`)."""

    name: str
    count: int  # without arrivals
    cross: bool
    start_ns: int
    start_random: bool  # then uniform from 0 to start_ns
    arrivals_per_s: float | None  # of cross traffic whose flows come and go
    size: Size | None  # None: as much as comes until all stop
    initial_window_packets: int | None
    setup: FlowSetup


def flow_setting(key: str, value: object) -> Scalar:
    """Return the canonical value of `flows.GROUP.KEY`; SettingError if it cannot be."""
    group, _, name = key.removeprefix(FLOW_PREFIX).partition(".")
    if not _NAME.fullmatch(group) or not name:
        raise SettingError(
            key, 'write flows.GROUP.KEY, for example flows.tcp.count = 2; a group has small letters, digits and "-"'
        )
    if name.startswith(KNOB_PREFIXES) or name in _ENDPOINT:
        return endpoint_setting(name, value)
    if name not in _CHECKS:
        knobs = (prefix + "NAME" for prefix in KNOB_PREFIXES)
        raise SettingError(key, f"unknown key of a flow; {allowed(name, (*_CHECKS, *_ENDPOINT, *knobs))}")
    try:
        return _CHECKS[name](value)
    except units.UnitError as error:
        raise SettingError(key, str(error)) from error


def groups_of(arm: Arm, settings: Mapping[str, Scalar], catalogue: Catalogue) -> tuple[FlowGroup, ...]:
    """Return an arm's groups in a cell with these settings; SettingError if they cannot be.

    The groups that the arm names come first, in its order, then those whose protocol [defaults] or a level sets. Other
    settings of these count for the groups that are there.
    """
    own = [_group_of(key) for key in arm.settings if is_flow_setting(key)]
    common = [_group_of(key) for key in settings if is_flow_setting(key) and key.endswith(".protocol")]
    names = list(dict.fromkeys([*own, *common]))
    if not names:
        example = f'[arms.{arm.name}.flows.quic] with protocol = "h3"'
        raise SettingError("flows", f"missing: what competes in this arm, for example {example}", absent=True)
    groups = tuple(_group(arm, name, settings, catalogue) for name in names)
    duration = _duration_s(settings)
    if not _plays(settings, catalogue) and (duration is None) == (f"{WORKLOAD_PREFIX}object" not in settings):
        raise SettingError("workload", "needs either duration or object: for how long or how much", absent=True)
    if not any(group.count and not group.cross for group in groups):
        raise SettingError("flows", "no flow is left in this arm and cell: one count at least must be above 0")
    slots = sum(1 if group.arrivals_per_s else group.count for group in groups)
    if slots > MOST_ADDRESS_SLOTS:
        raise SettingError("flows", f"{slots} flows; the laboratory has addresses for {MOST_ADDRESS_SLOTS}")
    return groups


def draw(groups: Iterable[FlowGroup], seed: int, duration_s: float | None) -> tuple[Flow, ...]:
    """Return the flows of a round. The same seed gives each flow in order the same start, whatever the flows are.

    Cross traffic is drawn by its group's name instead, so that it is the same whatever it competes with.
    """
    flows: list[Flow] = []
    address_slot = 0
    for group in groups:
        numbers = range(group.count) if group.arrivals_per_s is None else range(1)
        for number in numbers:
            place = (group.name, number) if group.cross else (address_slot,)
            if group.arrivals_per_s is not None:
                flows += _arrivals(group, address_slot, place, seed, duration_s or 0.0)
            else:
                name = group.name if group.count == 1 else f"{group.name}-{number + 1}"
                start_s = group.start_ns / 1e9 * (uniform("start", seed, *place) if group.start_random else 1)
                size = None if group.size is None else group.size.bytes
                flows.append(_flow(group, name, address_slot, start_s, size))
            address_slot += 1
    return tuple(flows)


def _arrivals(
    group: FlowGroup, address_slot: int, place: Iterable[str | int], seed: int, duration_s: float
) -> list[Flow]:
    """Return flows that arrive at random, as a Poisson process, until all stop."""
    rate = group.arrivals_per_s or 0.0
    found: list[Flow] = []
    at_s = 0.0
    while len(found) < _MOST_ARRIVALS:
        at_s -= math.log(1 - uniform("gap", seed, *place, len(found))) / rate
        if at_s >= duration_s:
            break
        size = _drawn_bytes(group.size or Size(1), uniform("size", seed, *place, len(found)))
        found.append(_flow(group, f"{group.name}-{len(found) + 1}", address_slot, at_s, size))
    return found


def _flow(group: FlowGroup, name: str, address_slot: int, start_s: float, object_bytes: int | None) -> Flow:
    what = group.setup
    return Flow(
        name=name,
        group=group.name,
        cross=group.cross,
        address_slot=address_slot,
        start_s=round(start_s, 3),
        object_bytes=object_bytes,
        protocol=what.protocol,
        connection=what.connection,
        congestion_control=what.congestion_control,
        initial_window_packets=group.initial_window_packets if what.congestion_control else None,
        server=what.server,
        client=what.client,
    )


def _drawn_bytes(size: Size, share: float) -> int:
    """Return a size drawn by the law, to the nearest power of two, so that few files serve all flows."""
    if size.shape is None:
        return size.bytes
    least = size.bytes * (size.shape - 1) / size.shape
    wanted = least * (1 - share) ** (-1 / size.shape)
    step = round(math.log2(min(max(wanted, _SMALLEST_DRAWN), _LARGEST_DRAWN) / _SMALLEST_DRAWN))
    return int(_SMALLEST_DRAWN * 2**step)


def _group(arm: Arm, name: str, settings: Mapping[str, Scalar], catalogue: Catalogue) -> FlowGroup:
    common = {key: value for key, value in settings.items() if not is_flow_setting(key)}
    own = {
        **{key: value for key, value in arm.settings.items() if not is_flow_setting(key)},
        **_of_group(settings, name),
        **_of_group(arm.settings, name),
    }
    given = {key: own.pop(key) for key in _CHECKS if key in own}
    merged = tcp.with_presets(common, own)
    if not find_protocol(str(merged.get("protocol"))).kernel_tcp:
        # the arm's own settings of TCP are for its flows over TCP
        own = {key: value for key, value in own.items() if key not in _TCP_KEYS or key in _of_group(arm.settings, name)}
    try:
        group = ArmSettings.of(Arm(arm.name, arm.label, own), common, catalogue)
        setup = resolve_flow_setup(group, catalogue)
        return _made(name, given, settings, merged, setup, catalogue)
    except SettingError as error:
        raise SettingError(f"{FLOW_PREFIX}{name}.{error.key}", error.message, absent=True) from error


def _made(
    name: str,
    given: Mapping[str, Scalar],
    settings: Mapping[str, Scalar],
    merged: Mapping[str, Scalar],
    setup: FlowSetup,
    catalogue: Catalogue,
) -> FlowGroup:
    plays = _plays(settings, catalogue)
    if plays and (unfit := next((key for key in _OF_DOWNLOADS if key in given), None)):
        raise SettingError(unfit, "is for flows that download; of workload video each flow is a player")
    arrivals = given.get("arrivals")
    cross = bool(given.get("cross", arrivals is not None))
    if catalogue.stacks[setup.client.stack].client_command is None:
        raise SettingError("client", f"{setup.client.stack} stays warm between trials, which flows cannot share")
    if setup.protocol == EITHER.name:
        raise SettingError("protocol", f"a flow that competes speaks one protocol, {' or '.join(EITHER.spoken)}")
    datagrams = find_protocol(setup.protocol).cross_traffic
    if datagrams and plays:
        raise SettingError("protocol", f"{setup.protocol} carries no video; allowed: h3, h2")
    if datagrams and not cross:
        raise SettingError("cross", f"{setup.protocol} is only cross traffic: write cross = true")
    if datagrams and (unfit := next((key for key in ("arrivals", "object") if key in given), None)):
        raise SettingError(unfit, f"{setup.protocol} is sent until all flows stop: its server's knobs set how much")
    if arrivals is not None and ("count" in given or not cross or "object" not in given):
        raise SettingError("arrivals", "is for cross traffic with an object, and without a count")
    if arrivals is not None and setup.connection is not ConnectionState.COLD:
        raise SettingError("connection", "flows that come and go are cold")
    duration_s = _duration_s(settings)
    if arrivals is not None and (duration_s is None or float(arrivals) * duration_s > _MOST_ARRIVALS / 2):
        raise SettingError("arrivals", f"at most {_MOST_ARRIVALS // 2} flows within the duration, which must be set")
    written = None if datagrams else given.get("object", settings.get(f"{WORKLOAD_PREFIX}object"))
    size = None if written is None else _size(str(written))
    if size is not None and size.shape is not None and arrivals is None:
        raise SettingError("object", "a law of sizes is for flows that come and go: set arrivals")
    start = str(given.get("start", _PLAYERS_START if plays else settings[START]))
    inside = call(start)
    window = merged.get("tcp_initial_window")
    return FlowGroup(
        name=name,
        count=1 if arrivals is not None else int(given.get("count", 1)),
        cross=cross,
        start_ns=units.parse_time(start if inside is None else inside[1]),
        start_random=inside is not None,
        arrivals_per_s=None if arrivals is None else float(arrivals),
        size=size,
        initial_window_packets=None if window is None else int(window),
        setup=setup,
    )


def _plays(settings: Mapping[str, Scalar], catalogue: Catalogue) -> bool:
    return catalogue.workloads[str(settings[f"{WORKLOAD_PREFIX}kind"])].plays


def _duration_s(settings: Mapping[str, Scalar]) -> float | None:
    written = settings.get(f"{WORKLOAD_PREFIX}{DURATION.removesuffix('_s')}")
    return None if written is None else units.parse_time(written) / 1e9


def _group_of(key: str) -> str:
    return key.removeprefix(FLOW_PREFIX).partition(".")[0]


def _of_group(settings: Mapping[str, Scalar], name: str) -> dict[str, Scalar]:
    prefix = f"{FLOW_PREFIX}{name}."
    return {key.removeprefix(prefix): value for key, value in settings.items() if key.startswith(prefix)}


def _count(value: object) -> Scalar:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_ADDRESS_SLOTS:
        raise units.UnitError(f"must be a whole number of flows, from 0 to {MOST_ADDRESS_SLOTS}")
    return value


def _switch(value: object) -> Scalar:
    if not isinstance(value, bool):
        raise units.UnitError("must be true or false")
    return value


def _per_second(value: object) -> Scalar:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _MOST_ARRIVALS:
        raise units.UnitError("must be a number of flows per second, above 0")
    return float(value)


def _object(value: object) -> Scalar:
    size = _size(value)
    mean = units.print_size(size.bytes)
    return mean if size.shape is None else f"{_PARETO}({mean}, {size.shape:g})"


def _size(value: object) -> Size:
    called = call(value)
    if called is None:
        if not (size_bytes := units.parse_size(value)):
            raise units.UnitError("must be above 0B")
        return Size(size_bytes)
    mean, _, shape = called[1].partition(",")
    number = float(shape) if _SHAPE.fullmatch(shape) else 0.0
    if called[0] != _PARETO or not 1 < number <= 10:
        raise units.UnitError(
            "write a size, or pareto(MEAN, SHAPE) with a shape above 1, for example pareto(30KB, 1.2)"
        )
    return Size(units.parse_size(mean.strip()), number)


_CHECKS: Mapping[str, Callable[[object], Scalar]] = {
    "count": _count,
    "start": start_setting,
    "object": _object,
    "cross": _switch,
    "arrivals": _per_second,
}
"""Keys of a group that set when and how much it sends; the others set its programs."""
