"""Settings of the kernel's TCP that an arm may have, and named sets of them: the TCP baselines. Pure.

"QUIC against TCP" depends on which TCP. `stock` is what a server has that nobody has touched; `tuned` is what large
sites run, and the baseline that Yu and Benson (2021) and Wolsing et al. (ANRW 2019) asked for; `bbr` is that with BBR.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from longlook.core import Scalar, SettingError, allowed, units

PRESET = "tcp"
CONGESTION_CONTROL = "congestion_control"
MOST_PACKETS = 1_000  # more than any buffer of the start can hold
_MOST_SSTHRESH_PACKETS = 100_000
_LEAST_MSS_BYTES, _MOST_MSS_BYTES = 256, 1460  # Linux's net.ipv4.route.min_adv_mss; 1500 bytes without headers
_LONGEST_RTO_NS = 10_000_000_000
_MOST_RETRIES = 127  # of Linux
_MIB = 1 << 20

MULTIPATH, MULTIPATH_BACKUP = "tcp_multipath", "tcp_multipath_backup"

OF_CUBIC = ("tcp_hystart", "tcp_initial_ssthresh", "tcp_window_after_loss")
"""Settings of Linux's Cubic, which the whole kernel shares: for trials with a kernel of their own, in virtual time."""


def _whole(most: int, least: int = 1, noun: str = "whole number") -> Callable[[object], Scalar]:
    def check(value: object) -> Scalar:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise units.UnitError(f"must be a {noun} from {least} to {most}")
        return value

    return check


def _packets(most: int, least: int = 1) -> Callable[[object], Scalar]:
    return _whole(most, least, "whole number of packets")


def _switch(value: object) -> Scalar:
    if not isinstance(value, bool):
        raise units.UnitError("must be true or false")
    return value


def _size(value: object) -> Scalar:
    size_bytes = units.parse_size(value)
    if not 4096 <= size_bytes <= 1 << 30:
        raise units.UnitError("must be from 4KiB to 1GiB")
    return units.print_size(size_bytes)


def _segment(value: object) -> Scalar:
    size_bytes = units.parse_size(value)
    if not _LEAST_MSS_BYTES <= size_bytes <= _MOST_MSS_BYTES:
        raise units.UnitError(f"must be from {_LEAST_MSS_BYTES}B to {_MOST_MSS_BYTES}B")
    return units.print_size(size_bytes)


def _timeout(value: object) -> Scalar:
    time_ns = units.parse_time(value)
    if time_ns % 1_000_000 or not 1_000_000 <= time_ns <= _LONGEST_RTO_NS:
        raise units.UnitError("must be whole milliseconds, from 1ms to 10s")
    return units.print_time(time_ns)


def _share(value: object) -> Scalar:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.1 <= value <= 0.99:
        raise units.UnitError("must be a share from 0.1 to 0.99")
    return float(value)


ACCURATE = "accecn"
"""`tcp_ecn` with accurate feedback (AccECN, RFC 9768), which kernels from 6.18 on have."""


def _ecn(value: object) -> Scalar:
    if not isinstance(value, bool) and value != ACCURATE:
        raise units.UnitError(f'must be true, false or "{ACCURATE}"')
    return value if isinstance(value, bool) else ACCURATE


SETTINGS: Mapping[str, Callable[[object], Scalar]] = {
    "tcp_initial_window": _packets(MOST_PACKETS),
    "tcp_pacing": _switch,
    "tcp_idle_restart": _switch,
    "tcp_receive_buffer": _size,
    "tcp_send_buffer": _size,
    "tcp_hystart": _switch,
    "tcp_initial_ssthresh": _packets(_MOST_SSTHRESH_PACKETS, least=2),
    "tcp_window_after_loss": _share,
    "tcp_reordering": _packets(MOST_PACKETS),
    "tcp_adaptive_reordering": _switch,
    "tcp_sack": _switch,
    "tcp_dsack": _switch,
    "tcp_tail_loss_probe": _switch,
    "tcp_rto_min": _timeout,
    "tcp_quickack": _switch,
    "tcp_timestamps": _switch,
    "tcp_mss": _segment,
    "tcp_mtu_probing": _switch,
    "tcp_syn_retries": _whole(_MOST_RETRIES),
    "tcp_data_retries": _whole(_MOST_RETRIES),
    "tcp_ecn": _ecn,
    MULTIPATH: _switch,
    MULTIPATH_BACKUP: _switch,
}
"""Key → check, which returns the canonical value."""

USUAL: Mapping[str, Scalar] = {
    CONGESTION_CONTROL: "cubic",
    "tcp_initial_window": 10,
    "tcp_receive_buffer": "64MiB",
    "tcp_send_buffer": "64MiB",
    "tcp_pacing": False,
    "tcp_idle_restart": True,
    "tcp_hystart": True,
    "tcp_window_after_loss": 0.7,
    "tcp_initial_ssthresh": _MOST_SSTHRESH_PACKETS,
    "tcp_reordering": 3,
    "tcp_adaptive_reordering": True,
    "tcp_sack": True,
    "tcp_dsack": True,
    "tcp_tail_loss_probe": True,
    "tcp_rto_min": "200ms",
    "tcp_quickack": False,
    "tcp_timestamps": True,
    "tcp_mss": "1460B",
    "tcp_mtu_probing": False,
    "tcp_syn_retries": 6,
    "tcp_data_retries": 15,
}
"""The settings of a trial's TCP if nothing is set, as canonical values: Linux's own, except the buffers, which are the
laboratory's. No first threshold is as good as the largest one."""

OF_KNOB: Mapping[str, str] = {
    "ack_threshold": "tcp_quickack",
    "adaptive_reordering": "tcp_adaptive_reordering",
    CONGESTION_CONTROL: CONGESTION_CONTROL,
    "ecn": "tcp_ecn",
    "hystart": "tcp_hystart",
    "initial_ssthresh": "tcp_initial_ssthresh",
    "initial_window": "tcp_initial_window",
    "max_connection_window": "tcp_receive_buffer",
    "max_udp_payload": "tcp_mss",
    "pacing": "tcp_pacing",
    "packet_threshold": "tcp_reordering",
    "send_buffer": "tcp_send_buffer",
    "window_after_loss": "tcp_window_after_loss",
}
"""Knob of QUIC stacks → the setting that changes the same rule of the kernel's TCP."""

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
    """Return the canonical value of `tcp` or one of SETTINGS; SettingError if it cannot be."""
    if key == PRESET:
        if not isinstance(value, str) or value not in PRESETS:
            raise SettingError(key, allowed(value, PRESETS))
        return value
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


@dataclass(frozen=True)
class TcpSettings:
    """Settings of the kernel's TCP that an arm has: the congestion control, and keys of SETTINGS → canonical values."""

    congestion_control: str | None
    values: Mapping[str, Scalar]
    stated: tuple[str, ...]  # the keys that the arm itself has, a preset's among them

    @classmethod
    def of(cls, settings: Mapping[str, Scalar], arm: Mapping[str, Scalar]) -> "TcpSettings":
        """Return the part of an arm's settings that is about TCP; `arm` has its own alone."""
        name = settings.get(CONGESTION_CONTROL)
        return cls(
            congestion_control=None if name is None else str(name),
            values={key: settings[key] for key in SETTINGS if key in settings},
            stated=tuple(key for key in (CONGESTION_CONTROL, PRESET, *SETTINGS) if key in arm),
        )

    @property
    def multipath(self) -> bool:
        """Return whether its connections are to use several paths."""
        return bool(self.values.get(MULTIPATH))

    def check(self, *congestion_controls: str | None) -> None:
        """Raise SettingError if they contradict congestion controls of the arm's flows, None for a flow over UDP."""
        if controllers := {name for name in congestion_controls if name is not None}:
            check_cubic(self.values, controllers)
            check_dctcp(self.values, controllers)

    def parameters(self) -> dict[str, Scalar]:
        """Return them for the laboratory, in plain units (`model.Trial.tcp`)."""
        return parameters(self.values)


def check_cubic(own: Mapping[str, Scalar], controllers: Collection[str]) -> None:
    """Raise SettingError if settings of Cubic contradict each other, or the congestion controls of all flows."""
    if "tcp_initial_ssthresh" in own and own.get("tcp_hystart", False):
        raise SettingError(
            "tcp_hystart", "Linux's Cubic takes tcp_initial_ssthresh only without HyStart: leave one out"
        )
    for key in OF_CUBIC:
        if key in own and "cubic" not in controllers:
            having = ", ".join(sorted(controllers))
            message = f"sets Linux's Cubic, and the congestion control here is {having}: write cubic, or leave it out"
            raise SettingError(key, message)


def check_dctcp(own: Mapping[str, Scalar], controllers: Collection[str]) -> None:
    """Raise SettingError if ECN is switched off and a flow's congestion control is DCTCP, which is about marks."""
    if own.get("tcp_ecn") is False and "dctcp" in controllers:
        raise SettingError(
            "tcp_ecn",
            "dctcp reacts to marks, and Linux asks for ECN for it whatever this says: "
            'leave tcp_ecn out, or write true or "accecn"',
        )


def parameter(key: str) -> str:
    """Return the name of a setting in `model.Trial.tcp`, which carries its unit."""
    name = key.removeprefix("tcp_")
    return name + _UNITS.get(name, "")


def parameters(own: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return an arm's settings of TCP for the laboratory: the ones given, in plain units (`model.Trial.tcp`)."""
    found: dict[str, Scalar] = {}
    for key in SETTINGS:
        if key in own:
            name, value = parameter(key), own[key]
            if name.endswith("_bytes"):
                value = units.parse_size(value)
            elif name.endswith("_ms"):
                value = units.parse_time(value) // 1_000_000
            found[name] = value
    return found


_UNITS: Mapping[str, str] = {
    **dict.fromkeys(("initial_window", "initial_ssthresh", "reordering"), "_packets"),
    **dict.fromkeys(("receive_buffer", "send_buffer", "mss"), "_bytes"),
    "rto_min": "_ms",
}
