"""Refuse uploads that a program cannot send or take, before any trial. Pure."""

from longlook.core import EITHER, ConnectionState, SettingError, Stack
from longlook.study.arm_settings import ArmSettings, EndpointSettings
from longlook.study.catalogue import Catalogue
from longlook.study.settings import PROXY

_DOES = {"client": "sends no uploads", "server": "takes no uploads"}
_ANSWER = "upload_answer"


def check_upload(end: EndpointSettings, stack: Stack, arm: ArmSettings, protocol: str, catalogue: Catalogue) -> None:
    """Raise SettingError if the program of an end cannot do its part of an arm whose client uploads."""
    if not arm.workload.kind.uploads:
        if _ANSWER in end.knobs and _ANSWER in stack.knobs:
            raise SettingError(end.key(_ANSWER), "nothing is uploaded: it is for workload upload")
        return
    if protocol == EITHER.name:
        raise SettingError("protocol", f"an upload has one protocol, {' or '.join(EITHER.spoken)}")
    if protocol not in stack.uploads.get(end.role, ()):
        able = [
            f"{name} over {', '.join(each.uploads[end.role])}"
            for name, each in catalogue.stacks.items()
            if end.role in each.uploads
        ]
        own = f"{end.role} {stack.name} {_DOES[end.role]} over {protocol}"
        raise SettingError(end.role, f"{own}; {end.role}s that do: {'; '.join(able) or 'none'}")
    if arm.connection is ConnectionState.ZERO_RTT:
        raise SettingError("connection", "early data may be replayed, so no upload is sent as such: cold or resumed")
    if arm.proxy.stack is not None:
        raise SettingError(PROXY, "uploads go to the server itself, as no proxy is known to carry them: leave it out")
