"""An arm in a cell, whole: its one setup, or the flows that compete in it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from longlook.core.flows import DATAGRAM_PROTOCOLS
from longlook.core.model import Arm, Scalar
from longlook.core.problems import SettingError
from longlook.study import tcp
from longlook.study.catalogue import Catalogue
from longlook.study.flow_groups import Group, groups_of
from longlook.study.resolve import Circumstances, FlowSetup, resolve_circumstances, resolve_flow_setup
from longlook.study.settings import WORKLOAD_PREFIX


@dataclass(frozen=True)
class ResolvedArm:
    """What an arm enters a cell with; of several groups of flows `setup` is the first one's."""

    setup: FlowSetup
    circumstances: Circumstances
    groups: tuple[Group, ...] = ()


def resolve_arm(arm: Arm, settings: Mapping[str, Scalar], catalogue: Catalogue) -> ResolvedArm:
    """The arm in a cell with these settings; SettingError where it cannot be."""
    how = resolve_circumstances(arm, settings)
    if not catalogue.workloads[str(settings[f"{WORKLOAD_PREFIX}kind"])].competes:
        setup = resolve_flow_setup(arm, settings, catalogue)
        if setup.protocol in DATAGRAM_PROTOCOLS:
            message = f"{setup.protocol} is cross traffic alone, which only the workload compete has (flows.GROUP)"
            raise SettingError("protocol", message)
        return ResolvedArm(setup, how)
    if how.client_cpu_share is not None:
        raise SettingError("client_cpu", "is for one client; of several that compete none can be limited")
    groups = groups_of(arm, settings, catalogue)
    over_tcp = any(group.setup.congestion_control for group in groups)
    how = replace(how, tcp=tcp.parameters(tcp.with_presets(settings, arm.settings)) if over_tcp else {})
    return ResolvedArm(groups[0].setup, how, groups)
