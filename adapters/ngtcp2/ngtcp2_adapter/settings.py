"""Knobs, and the settings of ngtcp2 that they end in; what no knob sets is as ngtcp2's own programs have it."""

import ctypes as c
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from longlook_adapter.errors import BadUsageError, UnsupportedError

from ngtcp2_adapter.abi import Parameters, Settings
from ngtcp2_adapter.libraries import quic

_SECOND = 10**9
_KIB, _MIB = 1 << 10, 1 << 20
_ALGORITHMS = {"reno": 0, "cubic": 1, "bbr": 2, "bbr2": 3}


@dataclass(frozen=True)
class Choices:
    """Knobs by the name of the field that they set, in ngtcp2's settings or in its transport parameters."""

    settings: Mapping[str, int]
    parameters: Mapping[str, int]

    def make(self, *, server: bool) -> tuple[Any, Any]:
        """Settings and transport parameters of one connection."""
        settings, parameters = Settings(), Parameters()
        quic.ngtcp2_settings_default_versioned(1, c.byref(settings))
        quic.ngtcp2_transport_params_default_versioned(1, c.byref(parameters))
        settings.cc_algo = _ALGORITHMS["cubic"]
        settings.handshake_timeout = 10 * _SECOND
        settings.max_window, settings.max_stream_window = (6 * _MIB,) * 2 if server else (24 * _MIB, 16 * _MIB)
        stream = 256 * _KIB if server else 6 * _MIB
        parameters.initial_max_stream_data_bidi_local = stream
        parameters.initial_max_stream_data_bidi_remote = stream
        parameters.initial_max_stream_data_uni = stream
        parameters.initial_max_data = _MIB if server else 15 * _MIB
        parameters.initial_max_streams_bidi = 100 if server else 0
        parameters.initial_max_streams_uni = 3 if server else 100
        parameters.max_idle_timeout = 30 * _SECOND
        parameters.active_connection_id_limit = 7
        parameters.grease_quic_bit = 1
        for target, values in ((settings, self.settings), (parameters, self.parameters)):
            for name, value in values.items():
                setattr(target, name, value)
        return settings, parameters


def choices(knobs: Mapping[str, Any]) -> Choices:
    """Checked knobs; both roles have the same."""
    found: dict[str, dict[str, int]] = {"settings": {}, "parameters": {}}
    for name, value in knobs.items():
        if name not in _KNOBS:
            raise UnsupportedError(f"unknown knob {name!r}")
        where, fields, parse = _KNOBS[name]
        try:
            found[where].update(dict.fromkeys(fields, parse(str(value))))
        except ValueError as error:
            raise BadUsageError(f"knob {name}={value}: {error}") from error
    return Choices(**found)


def _whole(lowest: int, highest: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = int(text)
        if not lowest <= number <= highest:
            raise ValueError(f"not between {lowest} and {highest}")
        return number

    return parse


def _nanoseconds(text: str) -> int:
    seconds = float(text)
    if not 0.001 <= seconds <= 10:
        raise ValueError("not between 0.001 and 10")
    return round(seconds * _SECOND)


def _algorithm(text: str) -> int:
    if text not in _ALGORITHMS:
        raise ValueError(f"none of {', '.join(_ALGORITHMS)}")
    return _ALGORITHMS[text]


def _truth(text: str) -> int:
    if text.lower() not in ("true", "false"):
        raise ValueError("neither true nor false")
    return int(text.lower() == "true")


_WINDOW = _whole(1, 2**62 - 1)
_STREAM = tuple(f"initial_max_stream_data_{kind}" for kind in ("bidi_local", "bidi_remote"))
_KNOBS: Mapping[str, tuple[str, tuple[str, ...], Callable[[str], int]]] = {
    "congestion_control": ("settings", ("cc_algo",), _algorithm),
    "initial_rtt": ("settings", ("initial_rtt",), _nanoseconds),
    "max_connection_window": ("settings", ("max_window",), _WINDOW),
    "max_stream_window": ("settings", ("max_stream_window",), _WINDOW),
    "ack_threshold": ("settings", ("ack_thresh",), _whole(1, 100)),
    "disable_pmtud": ("settings", ("no_pmtud",), _truth),
    "initial_connection_window": ("parameters", ("initial_max_data",), _WINDOW),
    "initial_stream_window": ("parameters", _STREAM, _WINDOW),
}
