"""Refuse live sources that a protocol cannot carry, and protocols of live sources with another workload. Pure."""

from longlook.core import QUIC_LIVE, TLS_LIVE, UDP_LIVE, SettingError, find_protocol
from longlook.study.arm_settings import ArmSettings

_SPOKEN = ", ".join(each.name for each in (QUIC_LIVE, TLS_LIVE, UDP_LIVE))


def check_live(arm: ArmSettings, protocol: str) -> None:
    """Raise SettingError if protocol and workload do not fit together."""
    if find_protocol(protocol).live == arm.workload.kind.live:
        return
    if arm.workload.kind.live:
        raise SettingError("protocol", f"workload live has frames that nobody asks for; use {_SPOKEN}")
    raise SettingError("protocol", f"fetches nothing: {protocol} is for workload live; use h3 or h2 here")
