"""Knobs, and the settings of ngtcp2 that they end in; everything else is set as ngtcp2's own programs do."""

import ctypes as c
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from longlook_adapter.errors import UnsupportedError
from longlook_adapter.knobs import one_of, parse_knobs, real, truth, whole

from ngtcp2_adapter.libraries import interface, quic, version

_SECOND = 10**9
_KIB, _MIB = 1 << 10, 1 << 20
_ALGORITHMS = ("reno", "cubic", "bbr", "bbr2")


@dataclass(frozen=True)
class Choices:
    """Knobs by the name of the field that they set, in ngtcp2's settings or in its transport parameters."""

    settings: Mapping[str, int]
    parameters: Mapping[str, int]

    def make(self, *, server: bool) -> tuple[Any, Any]:
        """Settings and transport parameters of one connection."""
        settings: Any = interface.Settings()
        parameters: Any = interface.Parameters()
        quic.ngtcp2_settings_default_versioned(1, c.byref(settings))
        quic.ngtcp2_transport_params_default_versioned(1, c.byref(parameters))
        settings.cc_algo = interface.algorithms["cubic"]
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


def choices(knobs: Mapping[str, Any], *, server: bool) -> Choices:
    """Return the settings that knobs ask for; a server has some that a client has not."""
    found: dict[str, dict[str, int]] = {"settings": {}, "parameters": {}}
    known = {name: knob.parse for name, knob in _KNOBS.items() if server or name not in _OF_SERVERS}
    for name, value in parse_knobs(knobs, known, "ngtcp2").items():
        found[_KNOBS[name].part].update(dict.fromkeys(_KNOBS[name].fields, value))
    return Choices(**found)


@dataclass(frozen=True)
class _Knob:
    """The fields that a knob sets, in ngtcp2's `settings` or in its transport `parameters`."""

    part: str
    fields: tuple[str, ...]
    parse: Callable[[str], int]


def _nanoseconds(most_s: float) -> Callable[[str], int]:
    return lambda text: round(real(0.001, most_s)(text) * _SECOND)


def _algorithm(text: str) -> int:
    name = one_of(*_ALGORITHMS)(text)
    if name not in interface.algorithms:
        raise UnsupportedError(f"congestion control {name}: ngtcp2 {version()} has {', '.join(interface.algorithms)}")
    return interface.algorithms[name]


_WINDOW = whole(1, 2**62 - 1)
_STREAM = tuple(f"initial_max_stream_data_{kind}" for kind in ("bidi_local", "bidi_remote"))
_KNOBS: Mapping[str, _Knob] = {
    "congestion_control": _Knob("settings", ("cc_algo",), _algorithm),
    "initial_rtt": _Knob("settings", ("initial_rtt",), _nanoseconds(10)),
    "max_connection_window": _Knob("settings", ("max_window",), _WINDOW),
    "max_stream_window": _Knob("settings", ("max_stream_window",), _WINDOW),
    "ack_threshold": _Knob("settings", ("ack_thresh",), whole(1, 100)),
    "disable_pmtud": _Knob("settings", ("no_pmtud",), truth),
    "max_ack_delay": _Knob("parameters", ("max_ack_delay",), _nanoseconds(16)),
    "max_incoming_streams": _Knob("parameters", ("initial_max_streams_bidi",), whole(1, 2**20)),
    "initial_connection_window": _Knob("parameters", ("initial_max_data",), _WINDOW),
    "initial_stream_window": _Knob("parameters", _STREAM, _WINDOW),
}
_OF_SERVERS = ("max_incoming_streams",)
