"""The vocabulary of settings: every dotted key that a study file may set, and the canonical form of its value.

A value is brought into one form as it is read (`10 Mbit/s` becomes `10Mbit`), so that two spellings of one condition
are one condition: same cell, same seed, same trial.
"""

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path

from longlook.core import (
    ConnectionState,
    Parameter,
    Scalar,
    ServerConfig,
    SettingError,
    SiteUrlError,
    WorkloadKind,
    allowed,
    as_main,
    echoes,
    is_site_url,
    link_of,
    parse_site_url,
    units,
)
from longlook.network import call, extra_links, ip, surgery
from longlook.network import settings as network
from longlook.provision import ServerConfigError, server_configs
from longlook.study import processors, tcp

KERNEL_CONGESTION_CONTROLS = (
    *("bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois"),
    *("lp", "nv", "reno", "scalable", "vegas", "veno", "westwood", "yeah"),
)
"""Congestion controls of Linux; whether this machine's kernel offers one is found when the laboratory is built."""

STALE_TICKETS = "stale_tickets"
"""Share of the rounds in which the client's ticket is of no use any more."""

SPLIT = "split"
"""Over how many connections the arm's client fetches each object, a part over each."""
MOST_PARTS = 64

PROXY, NO_PROXY = "proxy", "none"
"""The proxy in the middle of a path of two links, and that there is none: then the middle is a router."""

SERVER_CONFIG, NO_CONFIG = "server_config", "none"
"""The user's own configuration of the server, and that there is none: then it has the laboratory's alone."""
_KEPT_CONFIG = re.compile(r"(?P<name>(?!\.{1,2} )[^/\0\n]+) (?P<digest>sha256:[0-9a-f]{64})")
"""A configuration that was read: the name of its file, and the digest of its content."""

ENDPOINT_KEYS = (
    "protocol",
    "connection",
    "congestion_control",
    tcp.PRESET,
    *tcp.SETTINGS,
    "server",
    SERVER_CONFIG,
    "client",
    PROXY,
    "client_cpu",
    *processors.KEYS,
    "engine",
    SPLIT,
    STALE_TICKETS,
)
ARM_CONDITIONS = (
    ip.IP,
    *("network.access_delay", "network.up.access_delay", "network.down.access_delay"),
    *(f"{surgery.PREFIX}{direction}" for direction in ("up", "down")),
)
"""Settings of the path that an arm may make: the version of IP, how senders are measured, and experiments on single
packets."""

ENGINES = ("virtual", "live")
KNOB_PREFIXES = ("server_knobs.", "client_knobs.", "proxy_knobs.")
WORKLOAD_PREFIX = "workload."
FLOW_PREFIX = "flows."

_RANDOM = "random"
NO_CPU_LIMIT = "off"
LEAST_CPU_SHARE = Fraction(1, 100)
"""Share of a CPU; with less the client would pause for longer than any round trip here (`lab.linux.cpuquota`)."""


def is_flow_setting(key: str) -> bool:
    """Return whether a key of a study is `flows.GROUP.KEY`."""
    return key.startswith(FLOW_PREFIX)


def endpoint_setting(key: str, value: object) -> Scalar:
    """Return the canonical value of a setting of an arm or of its flows, such as `protocol` or `server_knobs.NAME`."""
    if key.startswith(KNOB_PREFIXES):
        if not isinstance(value, str | int | float | bool):
            raise SettingError(key, "a knob is a text, a number, true or false")
        return value
    if key not in ENDPOINT_KEYS:
        raise SettingError(key, f"unknown key; {allowed(key, (*ENDPOINT_KEYS, *(p + 'NAME' for p in KNOB_PREFIXES)))}")
    if (check := _ENDPOINT_CHECKS.get(key)) is not None:
        return check(key, value)
    if not isinstance(value, str) or not value:
        raise SettingError(key, "must be a text")
    choices: Mapping[str, tuple[str, ...]] = {
        "connection": tuple(state.value for state in ConnectionState),
        "congestion_control": KERNEL_CONGESTION_CONTROLS,
        "engine": ENGINES,
    }
    if key in choices and value not in choices[key]:
        raise SettingError(key, allowed(value, choices[key]))
    return value


def _cpu(key: str, value: object) -> Scalar:
    if value == NO_CPU_LIMIT:
        return NO_CPU_LIMIT
    try:
        share = units.parse_share(value)
    except units.UnitError as error:
        raise SettingError(key, f"{error}; or {NO_CPU_LIMIT!r}") from error
    if share < LEAST_CPU_SHARE:
        raise SettingError(key, f"must be at least {units.print_share(LEAST_CPU_SHARE)} of a CPU, or {NO_CPU_LIMIT!r}")
    return units.print_share(share)


def _parts(key: str, value: object) -> Scalar:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_PARTS:
        raise SettingError(key, f"must be a whole number of connections, from 1 to {MOST_PARTS}")
    return value


def _share(key: str, value: object) -> Scalar:
    try:
        return units.print_share(units.parse_share(value))
    except units.UnitError as error:
        raise SettingError(key, str(error)) from error


def config_text(config: ServerConfig) -> str:
    """Return a configuration that was read as the canonical value of its setting."""
    return f"{config.name} {config.digest}"


def parse_config(value: Scalar | None) -> ServerConfig | None:
    """Return the configuration that a canonical value names; None if it names none."""
    read = _KEPT_CONFIG.fullmatch(str(value))
    return None if read is None else ServerConfig(read["name"], read["digest"])


def _config(key: str, value: object) -> Scalar:
    if not isinstance(value, str) or not value:
        raise SettingError(key, f"must be the path of a file, or {NO_CONFIG!r}")
    if value == NO_CONFIG or parse_config(value) is not None:
        return value
    try:
        return config_text(server_configs.keep(Path(value)))
    except ServerConfigError as error:
        raise SettingError(key, str(error)) from error


def _server(key: str, value: object) -> Scalar:
    """Return a server as it is named, a site by its URL in canonical form."""
    if not isinstance(value, str) or not value:
        raise SettingError(key, "must be a text")
    if not is_site_url(value):
        return value
    try:
        return str(parse_site_url(value))
    except SiteUrlError as error:
        raise SettingError(key, str(error)) from error


_ENDPOINT_CHECKS: Mapping[str, Callable[[str, object], Scalar]] = {
    **dict.fromkeys((tcp.PRESET, *tcp.SETTINGS), tcp.tcp_setting),
    **dict.fromkeys(processors.KEYS, processors.processor_setting),
    "server": _server,
    "client_cpu": _cpu,
    SPLIT: _parts,
    SERVER_CONFIG: _config,
    STALE_TICKETS: _share,
}
"""Settings that are not a choice between names."""


def start_setting(value: object) -> Scalar:
    """Return `2s`, or `random(2s)` for a moment up to that; UnitError if it is neither."""
    called = call(value)
    if called is None:
        return units.print_time(units.parse_time(value))
    if called[0] != _RANDOM:
        raise units.UnitError("write a time, for example 2s, or random(2s) for one up to that")
    return f"{_RANDOM}({units.print_time(units.parse_time(called[1]))})"


def network_setting(key: str, value: object) -> Scalar:
    """Return the canonical value of a setting of the emulated path, e.g. `network.rate` or `behind.up.loss`."""
    if name := link_of(key):
        if as_main(key) == ip.IP:
            raise SettingError(key, f"is of the whole path: set {ip.IP}")
        try:
            return network_setting(as_main(key), value)
        except SettingError as error:
            raise extra_links.error_of(name, error) from error
    if key not in network.SETTINGS:
        beside = [known for known in network.SETTINGS if known.count(".") == key.count(".")]
        raise SettingError(key, f"unknown key; {allowed(key, beside or network.SETTINGS)}")
    try:
        return network.SETTINGS[key](value)
    except units.UnitError as error:
        raise SettingError(key, str(error)) from error


def workload_setting(kind: WorkloadKind, key: str, value: object) -> tuple[str, Scalar]:
    """Return a parameter of the study's workload: its key as people write it (`workload.object`) and its value."""
    parameters = {short_name(name): parameter for name, parameter in kind.parameters.items()}
    name = short_name(key.removeprefix(WORKLOAD_PREFIX))
    if name not in parameters:
        raise SettingError(key, f"workload {kind.name} has no such parameter; {allowed(name, parameters)}")
    check = _PARAMETER_CHECKS[parameters[name].kind]
    try:
        canonical = check(value)
    except units.UnitError as error:
        raise SettingError(key, str(error)) from error
    _within_bounds(key, parameters[name], canonical)
    return f"{WORKLOAD_PREFIX}{name}", canonical


def workload_defaults(kind: WorkloadKind) -> dict[str, Scalar]:
    """Return canonical values of the parameters that a study need not set."""
    return {
        f"{WORKLOAD_PREFIX}{short_name(name)}": _printed(parameter, parameter.default)
        for name, parameter in kind.parameters.items()
        if parameter.default is not None
    }


def workload_parameters(kind: WorkloadKind, settings: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the workload's own parameters from canonical settings, sizes in bytes and times in seconds.

    A parameter with `omitted_at_default` is left out if it has its default.
    """
    values: dict[str, Scalar] = {}
    for name, parameter in kind.parameters.items():
        key = f"{WORKLOAD_PREFIX}{short_name(name)}"
        if key not in settings and parameter.optional:
            continue
        if key not in settings:
            raise SettingError(key, f"workload {kind.name} needs it: {parameter.help}", absent=True)
        value = _parsed(parameter, settings[key])
        if not (parameter.omitted_at_default and value == parameter.default):
            values[name] = value
    return values


def short_name(name: str) -> str:
    """Return `object` for `object_bytes` and `duration` for `duration_s`: the value carries the unit."""
    return name.removesuffix("_bytes").removesuffix("_bps").removesuffix("_s")


_SIZES = re.compile(r"[0-9.]+ *x *[0-9.]+ *[kKMG]i?B|[0-9.]+ *[kKMG]i?B *,")


def _count(value: object) -> Scalar:
    if not isinstance(value, int) or isinstance(value, bool):
        hint = '; objects of several sizes are kind = "mixed_page", images = "20 x 5KB, 3 x 100KB"'
        sizes = isinstance(value, str) and _SIZES.search(value)
        raise units.UnitError(f"must be a whole number{hint if sizes else ''}")
    return value


def _text(value: object) -> Scalar:
    if not isinstance(value, str):
        raise units.UnitError("must be a text")
    return value


_PARAMETER_CHECKS: Mapping[str, Callable[[object], Scalar]] = {
    "size": lambda value: units.print_size(units.parse_size(value)),
    "time": lambda value: units.print_time(units.parse_time(value)),
    "rate": lambda value: units.print_rate(units.parse_rate(value)),
    "count": _count,
    "text": _text,
    "start": start_setting,
    "payloads": echoes.canonical,
}


def _parsed(parameter: Parameter, value: Scalar) -> Scalar:
    if parameter.kind == "size":
        return units.parse_size(value)
    if parameter.kind == "rate":
        return units.parse_rate(value)
    if parameter.kind == "time":
        return units.parse_time(value) / 1e9
    return value


def _printed(parameter: Parameter, value: Scalar) -> Scalar:
    if parameter.kind == "size":
        return units.print_size(int(value))
    if parameter.kind == "rate":
        return units.print_rate(int(value))
    if parameter.kind == "time":
        return units.print_time(round(float(value) * 1e9))
    return value


def _within_bounds(key: str, parameter: Parameter, value: Scalar) -> None:
    number = _parsed(parameter, value)
    if isinstance(number, str):
        return
    if parameter.minimum is not None and number < parameter.minimum:
        raise SettingError(key, f"must be at least {_bound(parameter, parameter.minimum)}")
    if parameter.maximum is not None and number > parameter.maximum:
        raise SettingError(key, f"must be at most {_bound(parameter, parameter.maximum)}")


def _bound(parameter: Parameter, bound: float) -> Scalar:
    return _printed(parameter, int(bound) if bound == int(bound) else bound)
