"""Multipath TCP in a trial that asks for it: its second subflow, what programs get to know, and the proof of its use.

Everywhere else `net.mptcp.enabled` is 0: programs that would take Multipath TCP where a kernel has it (listeners of Go)
use plain TCP.
"""

from collections.abc import Mapping

from longlook.core.model import Outcome, Trial
from longlook.lab.judgement import Judgement
from longlook.lab.linux import mptcp
from longlook.lab.linux.namespace import Namespace
from longlook.lab.topology import SECOND_CLIENT_ADDRESS

SETTING, BACKUP = "multipath", "multipath_backup"
"""Of `Trial.tcp`."""
VARIABLE = "LONGLOOK_MULTIPATH_TCP"
"""Set to 1 for programs of a trial over Multipath TCP (adapters/CONTRACT.md)."""
_CONNECTIONS, _JOINS = "multipath_connections", "multipath_joins"


def variables(trial: Trial) -> Mapping[str, str]:
    """Return the variable that makes programs open Multipath TCP sockets; {} where they are not to."""
    return {VARIABLE: "1"} if trial.tcp.get(SETTING) else {}


def prepare(trial: Trial, client: Namespace) -> None:
    """Let the client's kernel open a subflow over the second link; raise MachineError where it cannot."""
    if trial.tcp.get(SETTING):
        mptcp.add_subflow_endpoint(client, SECOND_CLIENT_ADDRESS, backup=bool(trial.tcp.get(BACKUP)))


def counts(trial: Trial, server: Namespace) -> dict[str, float]:
    """Return how many connections the server's kernel accepted with Multipath TCP, and how many subflows joined."""
    if not trial.tcp.get(SETTING):
        return {}
    counted = mptcp.counted(server)
    return {_CONNECTIONS: float(counted.get("MPCapableACKRX", 0)), _JOINS: float(counted.get("MPJoinAckRx", 0))}


def judge(trial: Trial, observed: Mapping[str, float]) -> Judgement | None:
    """Return the outcome of a trial that asked for Multipath TCP and did not get it; None where it did."""
    if not trial.tcp.get(SETTING) or observed.get(_CONNECTIONS):
        return None
    return Judgement(
        Outcome.FAILED,
        "no connection used Multipath TCP, as the server's kernel counts them",
        f"both programs must open such sockets where {VARIABLE} is 1: quic-go does",
        complete=True,
    )
