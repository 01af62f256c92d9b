"""Settings of the kernel's TCP that an arm may have, and named sets of them: the TCP baselines. Pure.

"QUIC against TCP" depends on which TCP. `stock` is what a server has that nobody has touched; `tuned` is what large
sites run, and the baseline that Yu and Benson (2021) and Wolsing et al. (ANRW 2019) asked for; `bbr` is that with BBR.
"""

from collections.abc import Callable, Mapping

from longlook.core import units
from longlook.core.model import Scalar
from longlook.core.problems import SettingError, allowed

PRESET = "tcp"
CONGESTION_CONTROL = "congestion_control"
_MOST_PACKETS = 1_000  # more than any buffer of the start can hold
_MIB = 1 << 20


def _packets(value: object) -> Scalar:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST_PACKETS:
        raise units.UnitError(f"must be a whole number of packets from 1 to {_MOST_PACKETS}")
    return value


def _switch(value: object) -> Scalar:
    if not isinstance(value, bool):
        raise units.UnitError("must be true or false")
    return value


def _size(value: object) -> Scalar:
    size_bytes = units.parse_size(value)
    if not 4096 <= size_bytes <= 1 << 30:
        raise units.UnitError("must be from 4KiB to 1GiB")
    return units.print_size(size_bytes)


SETTINGS: Mapping[str, Callable[[object], Scalar]] = {
    "tcp_initial_window": _packets,
    "tcp_pacing": _switch,
    "tcp_idle_restart": _switch,
    "tcp_receive_buffer": _size,
    "tcp_send_buffer": _size,
}
"""Key → check, which returns the canonical value."""

PRESETS: Mapping[str, Mapping[str, Scalar]] = {
    "stock": {
        CONGESTION_CONTROL: "cubic",
        "tcp_initial_window": 10,
        "tcp_pacing": False,
        "tcp_idle_restart": True,
        "tcp_receive_buffer": units.print_size(6 * _MIB),
        "tcp_send_buffer": units.print_size(4 * _MIB),
    },
    "tuned": {
        CONGESTION_CONTROL: "cubic",
        "tcp_initial_window": 32,
        "tcp_pacing": True,
        "tcp_idle_restart": False,
        "tcp_receive_buffer": units.print_size(64 * _MIB),
        "tcp_send_buffer": units.print_size(64 * _MIB),
    },
}
PRESETS = {**PRESETS, "bbr": {**PRESETS["tuned"], CONGESTION_CONTROL: "bbr"}}
"""Name → settings. A setting made for the arm itself wins over the arm's preset; so does a preset of the arm over
settings of the study."""


def tcp_setting(key: str, value: object) -> Scalar:
    """Return the canonical value of `tcp` or one of SETTINGS; SettingError where it cannot be."""
    if key == PRESET:
        if value not in PRESETS:
            raise SettingError(key, allowed(value, PRESETS))
        return str(value)
    try:
        return SETTINGS[key](value)
    except units.UnitError as error:
        raise SettingError(key, str(error)) from error


def with_presets(settings: Mapping[str, Scalar], arm: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return a cell's settings with the arm's over them, and with the settings of a preset in its place."""
    if PRESET in arm:
        return {**settings, **PRESETS[str(arm[PRESET])], **arm}
    preset = PRESETS[str(settings[PRESET])] if PRESET in settings else {}
    return {**preset, **settings, **arm}


def parameters(own: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return an arm's settings of TCP for the laboratory: those that are set, in plain units (`model.Trial.tcp`)."""
    found: dict[str, Scalar] = {}
    for key in SETTINGS:
        if key in own:
            name = key.removeprefix("tcp_")
            if name == "initial_window":
                found["initial_window_packets"] = own[key]
            elif name.endswith("_buffer"):
                found[f"{name}_bytes"] = units.parse_size(own[key])
            else:
                found[name] = own[key]
    return found
