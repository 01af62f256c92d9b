"""Knobs, and the calls of picoquic that they end in; everything else is picoquic's own default."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from longlook_adapter.knobs import one_of, parse_knobs, real, truth, whole

from picoquic_adapter.library import Parameter, picoquic

_ALGORITHMS = {"reno": b"newreno", "cubic": b"cubic", "bbr": b"bbr1", "bbr3": b"bbr"}
"""Usual names of controllers, and picoquic's: its `bbr` follows the draft of BBRv3, its `bbr1` is the first version."""
_HEADERS_BYTES = {4: 28, 6: 48}
"""Of UDP and IP, which picoquic takes away from what it calls the MTU."""
_PACKET_BYTES = 1252
"""A packet over IPv4 before the path's MTU is known, by which windows are counted."""
_PMTUD_BLOCKED = 3
_RETRY = 1


@dataclass(frozen=True)
class Choices:
    """The values of knobs by name."""

    knobs: Mapping[str, Any]

    def apply(self, context: int, is_v6: bool) -> None:
        """Set them in a context, before it has connections."""
        for name, value in self.knobs.items():
            if name in _PARAMETERS:
                for parameter in _PARAMETERS[name].parameters:
                    picoquic.picoquic_set_default_tp_value(context, parameter, value)
            elif name in _CALLS:
                _CALLS[name](context, value)
        if (payload := self.knobs.get("max_udp_payload")) is not None:
            picoquic.picoquic_set_mtu_max(context, payload + _HEADERS_BYTES[6 if is_v6 else 4])

    def begin(self, connection: int) -> None:
        """Set in a new connection what belongs to each."""
        if (interval_us := self.knobs.get("keep_alive")) is not None:
            picoquic.picoquic_enable_keep_alive(connection, interval_us)


def choices(knobs: Mapping[str, Any], *, server: bool) -> Choices:
    """Return the settings that knobs ask for; a server has some that a client has not."""
    known = {name: parse for name, parse in _KNOWN.items() if server or name not in _OF_SERVERS}
    return Choices(parse_knobs(knobs, known, "picoquic"))


@dataclass(frozen=True)
class _Sets:
    """The transport parameters that a knob sets."""

    parse: Callable[[str], int]
    parameters: tuple[int, ...]


def _scaled(least_s: float, most_s: float, unit: int) -> Callable[[str], int]:
    return lambda text: round(real(least_s, most_s)(text) * unit)


def _set_congestion_control(context: int, name: str) -> None:
    picoquic.picoquic_set_default_congestion_algorithm_by_name(context, _ALGORITHMS[name])


def _set_pmtud(context: int, is_off: bool) -> None:
    if is_off:
        picoquic.picoquic_set_default_pmtud_policy(context, _PMTUD_BLOCKED)


def _set_retry(context: int, is_on: bool) -> None:
    picoquic.picoquic_set_cookie_mode(context, _RETRY if is_on else 0)


_MILLISECONDS, _MICROSECONDS = 1_000, 1_000_000
_DAY_S, _YEAR_S = 86_400, 31_536_000
_WINDOW = whole(1, 2**62 - 1)
_STREAM = (Parameter.STREAM_BIDI_LOCAL, Parameter.STREAM_BIDI_REMOTE, Parameter.STREAM_UNI)
_PARAMETERS = {
    "initial_stream_window": _Sets(_WINDOW, _STREAM),
    "initial_connection_window": _Sets(_WINDOW, (Parameter.MAX_DATA,)),
    "max_incoming_streams": _Sets(whole(1, 2**20), (Parameter.STREAMS_BIDI,)),
    "max_ack_delay": _Sets(_scaled(0.001, 16, _MICROSECONDS), (Parameter.MAX_ACK_DELAY,)),
    "idle_timeout": _Sets(_scaled(0.1, _YEAR_S, _MILLISECONDS), (Parameter.IDLE_TIMEOUT,)),
}
_CALLS: Mapping[str, Callable[[int, Any], None]] = {
    "congestion_control": _set_congestion_control,
    "disable_pmtud": _set_pmtud,
    "retry": _set_retry,
    "max_window": lambda context, packets: picoquic.picoquic_set_cwin_max(context, packets * _PACKET_BYTES),
}
_KNOWN: Mapping[str, Callable[[str], Any]] = {
    **{name: sets.parse for name, sets in _PARAMETERS.items()},
    "congestion_control": one_of(*_ALGORITHMS),
    "disable_pmtud": truth,
    "retry": truth,
    "keep_alive": _scaled(0.1, _DAY_S, _MICROSECONDS),
    "max_udp_payload": whole(1200, 1452),
    "max_window": whole(2, 10_000),
}
_OF_SERVERS = ("max_incoming_streams", "retry")
