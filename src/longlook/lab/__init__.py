"""The laboratory: it runs one trial, from an empty network to a sealed folder.

A `Job` goes in; a `Run` and the trial's folder (packet log, programs' lines, `run.json`) come out. Everything lives in
anonymous namespaces that the agent owns (docs/explanation/lab.md): when the agent ends, for whatever reason, the kernel
removes its processes, namespaces and devices. The engines start the two ways in, `agent` on this host and `guest` as
process 1 of a guest.

All effects on the machine go through `lab.linux`. Pure modules, which import nothing of it, decide what a trial is
worth: `judge` (the outcome), `guard` (was the measurement disturbed), `environment`. Modules import the standard
library and pyroute2 only, because starting the agent is part of the cost of each guest.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.lab import capability as capability
    from longlook.lab import judge_knobs as judge_knobs
    from longlook.lab import judge_settings as judge_settings
    from longlook.lab import judge_site as judge_site
    from longlook.lab import link_options as link_options
    from longlook.lab.addresses import SERVER_PORT as SERVER_PORT
    from longlook.lab.addresses import plan_of as plan_of
    from longlook.lab.artefacts import digests as digests
    from longlook.lab.artefacts import raise_if_full as raise_if_full
    from longlook.lab.artefacts import seal as seal
    from longlook.lab.artefacts import write_json as write_json
    from longlook.lab.artefacts import write_lines as write_lines
    from longlook.lab.capability import has_realtime_priority as has_realtime_priority
    from longlook.lab.guest import ENGINE as ENGINE
    from longlook.lab.guest import ERROR as ERROR
    from longlook.lab.guest import EXCHANGE as EXCHANGE
    from longlook.lab.guest import HOME as HOME
    from longlook.lab.guest import REQUEST as REQUEST
    from longlook.lab.guest import GuestError as GuestError
    from longlook.lab.guest import GuestRequest as GuestRequest
    from longlook.lab.guest import copy_to_host as copy_to_host
    from longlook.lab.guest import finish_imports as finish_imports
    from longlook.lab.guest import run_as_init as run_as_init
    from longlook.lab.host_paths import job_paths as job_paths
    from longlook.lab.host_paths import python_paths as python_paths
    from longlook.lab.limits import MOST_TASKS as MOST_TASKS
    from longlook.lab.limits import mebibytes as mebibytes
    from longlook.lab.linux import isolation as isolation
    from longlook.lab.linux import system as system
    from longlook.lab.linux.folders import both_ends as both_ends
    from longlook.lab.linux.folders import outermost as outermost
    from longlook.lab.linux.folders import raise_if_unreadable as raise_if_unreadable
    from longlook.lab.linux.isolation import mount_own as mount_own
    from longlook.lab.linux.isolation import run_isolated as run_isolated
    from longlook.lab.linux.limit_groups import MEMORY as MEMORY
    from longlook.lab.linux.limit_groups import TASKS as TASKS
    from longlook.lab.linux.limit_groups import Controllers as Controllers
    from longlook.lab.linux.limit_groups import LimitGroup as LimitGroup
    from longlook.lab.linux.limit_groups import own_controllers as own_controllers
    from longlook.lab.linux.namespace import CurrentNamespace as CurrentNamespace
    from longlook.lab.linux.namespace import Namespace as Namespace
    from longlook.lab.linux.nat import Nat as Nat
    from longlook.lab.linux.netlink import NetlinkError as NetlinkError
    from longlook.lab.linux.netlink import open_routes as open_routes
    from longlook.lab.linux.view import closed_folders as closed_folders
    from longlook.lab.linux.view import hidden_folders as hidden_folders
    from longlook.lab.process import Process as Process
    from longlook.lab.router import launch as launch
    from longlook.lab.router import refusal as refusal
    from longlook.lab.stale_state import boot_id as boot_id
    from longlook.lab.stale_state import clear_stale_state as clear_stale_state
    from longlook.lab.stale_state import is_same_process as is_same_process
    from longlook.lab.stale_state import start_ticks as start_ticks
    from longlook.lab.timing import Timing as Timing
    from longlook.lab.topology import CLIENT as CLIENT
    from longlook.lab.topology import PACKET as PACKET
    from longlook.lab.topology import SERVER as SERVER
    from longlook.lab.topology import TUN as TUN
    from longlook.lab.topology import End as End
    from longlook.lab.topology import EndpointNamespace as EndpointNamespace
    from longlook.lab.topology import datapath as datapath
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "addresses": "SERVER_PORT plan_of",
            "artefacts": "digests raise_if_full seal write_json write_lines",
            "capability": "has_realtime_priority",
            "guest": (
                "ENGINE ERROR EXCHANGE GuestError GuestRequest HOME REQUEST copy_to_host finish_imports run_as_init"
            ),
            "host_paths": "job_paths python_paths",
            "limits": "MOST_TASKS mebibytes",
            "linux.folders": "both_ends outermost raise_if_unreadable",
            "linux.isolation": "mount_own run_isolated",
            "linux.limit_groups": "Controllers LimitGroup MEMORY TASKS own_controllers",
            "linux.namespace": "CurrentNamespace Namespace",
            "linux.nat": "Nat",
            "linux.netlink": "NetlinkError open_routes",
            "linux.view": "closed_folders hidden_folders",
            "process": "Process",
            "router": "launch refusal",
            "stale_state": "boot_id clear_stale_state is_same_process start_ticks",
            "timing": "Timing",
            "topology": "CLIENT End EndpointNamespace PACKET SERVER TUN datapath",
        },
        "capability judge_knobs judge_settings judge_site link_options linux.isolation linux.system",
    )
