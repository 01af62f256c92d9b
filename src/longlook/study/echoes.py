"""What an echo may be asked for: sizes that its protocol can have and that can leave the interface. Pure."""

from collections.abc import Mapping

from longlook.core import echoes
from longlook.core.model import Scalar
from longlook.core.problems import SettingError
from longlook.core.protocol import QUIC_ECHO, UDP_ECHO, find_protocol
from longlook.core.workload import WorkloadKind

PAYLOAD = "workload.payload"
_DONT_FRAGMENT, _NEVER = "dont_fragment", "set"


def check_echo(kind: WorkloadKind, protocol: str, settings: Mapping[str, Scalar]) -> None:
    """Raise SettingError where protocol, workload and sizes do not fit together.

    A sweep may go beyond what leaves the interface in one piece, which is one of its results. A workload of which
    nothing at all could leave is a mistake.
    """
    if not kind.echoes:
        if find_protocol(protocol).echoes:
            raise SettingError("protocol", f"fetches nothing: {protocol} is for workload echo; use h3 or h2 here")
        return
    allowed = f"{UDP_ECHO.name} or {QUIC_ECHO.name}"
    if not find_protocol(protocol).echoes:
        raise SettingError("protocol", f"workload echo sends datagrams that its server answers; use {allowed}")
    if PAYLOAD not in settings:
        return  # the workload's own check says so
    sizes = echoes.payloads(str(settings[PAYLOAD]))
    if protocol == QUIC_ECHO.name and sizes[0] < echoes.SMALLEST_QUIC_BYTES:
        least = echoes.SMALLEST_QUIC_BYTES
        raise SettingError(PAYLOAD, f"{sizes[0]} bytes: a first packet of QUIC has {least} B or more (RFC 9000, 14.1)")
    if sizes[0] <= echoes.LARGEST_WHOLE_BYTES:
        return
    for role in ("client", "server"):
        key = f"{role}_knobs.{_DONT_FRAGMENT}"
        in_quic = protocol == QUIC_ECHO.name
        if in_quic or settings.get(key, _NEVER) == _NEVER:
            way_out = "" if in_quic else f', or {key} = "unset" or "kernel", which lets it be fragmented'
            raise SettingError(
                PAYLOAD,
                f"a datagram of {sizes[0]} bytes never leaves an interface with an MTU of "
                f"{echoes.INTERFACE_MTU_BYTES} B in one piece: at most {echoes.LARGEST_WHOLE_BYTES} B{way_out}",
            )
