"""What an echo may be asked for: sizes that its protocol can have and that can leave the interface. Pure."""

from longlook.core import echoes
from longlook.core.problems import SettingError
from longlook.core.protocol import QUIC_ECHO, UDP_ECHO, find_protocol
from longlook.study.arm_settings import ArmSettings
from longlook.study.settings import WORKLOAD_PREFIX

_PAYLOAD = "payload"
PAYLOAD = f"{WORKLOAD_PREFIX}{_PAYLOAD}"
_DONT_FRAGMENT, _NEVER = "dont_fragment", "set"


def check_echo(arm: ArmSettings, protocol: str) -> None:
    """Raise SettingError where protocol, workload and sizes do not fit together.

    A sweep may go beyond what leaves the interface in one piece, which is one of its results. A workload of which
    nothing at all could leave is a mistake.
    """
    values = arm.workload.values
    if not arm.workload.kind.echoes:
        if find_protocol(protocol).echoes:
            raise SettingError("protocol", f"fetches nothing: {protocol} is for workload echo; use h3 or h2 here")
        return
    allowed = f"{UDP_ECHO.name} or {QUIC_ECHO.name}"
    if not find_protocol(protocol).echoes:
        raise SettingError("protocol", f"workload echo sends datagrams that its server answers; use {allowed}")
    if _PAYLOAD not in values:
        return  # the workload's own check says so
    sizes = echoes.payloads(str(values[_PAYLOAD]))
    if protocol == QUIC_ECHO.name and sizes[0] < echoes.SMALLEST_QUIC_BYTES:
        least = echoes.SMALLEST_QUIC_BYTES
        raise SettingError(PAYLOAD, f"{sizes[0]} bytes: a first packet of QUIC has {least} B or more (RFC 9000, 14.1)")
    if sizes[0] <= echoes.LARGEST_WHOLE_BYTES:
        return
    for end in (arm.client, arm.server):
        key, in_quic = end.key(_DONT_FRAGMENT), protocol == QUIC_ECHO.name
        if in_quic or end.knobs.get(_DONT_FRAGMENT, _NEVER) == _NEVER:
            way_out = "" if in_quic else f', or {key} = "unset" or "kernel", which lets it be fragmented'
            raise SettingError(
                PAYLOAD,
                f"a datagram of {sizes[0]} bytes never leaves an interface with an MTU of "
                f"{echoes.INTERFACE_MTU_BYTES} B in one piece: at most {echoes.LARGEST_WHOLE_BYTES} B{way_out}",
            )
