"""Refuse what clients cannot be asked for that ask for all files at once and leave them, as images do. Pure."""

from longlook.core import SettingError, Stack, units
from longlook.provision import MOST_RESULTS_BYTES
from longlook.study.arm_settings import ArmSettings, WorkloadSettings
from longlook.study.catalogue import Catalogue
from longlook.study.settings import PROXY

_AT_ONCE, _OBJECT, _OBJECTS = "at_once", "object", "objects"
_LARGEST = units.print_size(MOST_RESULTS_BYTES)


def check_requests(client: Stack, arm: ArmSettings, catalogue: Catalogue) -> None:
    """Raise SettingError if a client of the interop runner's contract cannot express what an arm asks for."""
    if client.requests_command is None:
        return
    workload = arm.workload
    if not workload.kind.at_once:
        able = [name for name, kind in catalogue.workloads.items() if kind.at_once]
        raise SettingError(
            "client",
            f"client {client.name} asks for all its files at once and leaves them (docs/guide/images.md), which "
            f"workload {workload.kind.name} is not; use {', '.join(able)}",
        )
    objects, at_once = (int(workload.values.get(name, 0)) for name in (_OBJECTS, _AT_ONCE))
    if 0 < at_once < objects:
        raise SettingError(workload.key(_AT_ONCE), f"client {client.name} asks for all its files at once: leave it out")
    if (size := _all_bytes(workload)) > MOST_RESULTS_BYTES:
        raise SettingError(
            workload.key(_OBJECT),
            f"client {client.name} has room for files of {_LARGEST} together, not of {units.print_size(size)}",
        )
    if arm.proxy.stack is not None:
        raise SettingError(
            PROXY, f"client {client.name} prints no lines, so nothing would prove what came through the proxy"
        )


def _all_bytes(workload: WorkloadSettings) -> int:
    return units.parse_size(workload.values.get(_OBJECT, 0)) * int(workload.values.get(_OBJECTS, 1))
