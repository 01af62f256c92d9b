"""Several paths at once in a trial that asks for them: Multipath TCP of the kernel, or Multipath QUIC of both programs.

For Multipath TCP this module has the second subflow, the settings that programs get, and the proof of its use.
Everywhere else `net.mptcp.enabled` is 0: programs that would take Multipath TCP if a kernel has it (listeners of Go)
use plain TCP.
"""

from collections.abc import Iterable, Mapping

from longlook.core import Outcome, Trial, over_several_paths
from longlook.lab.addresses import plan_of
from longlook.lab.linux import mptcp
from longlook.lab.linux.namespace import Namespace
from longlook.lab.observations import Judgement, Observations

SETTING, BACKUP = "multipath", "multipath_backup"
"""Keys of `Trial.tcp`."""
VARIABLE = "LONGLOOK_MULTIPATH_TCP"
"""Set to 1 for programs of a trial over Multipath TCP (adapters/CONTRACT.md)."""
_CONNECTIONS, _JOINS = "multipath_connections", "multipath_joins"


def variables(trial: Trial) -> Mapping[str, str]:
    """Return the variable that makes programs open Multipath TCP sockets; {} if they are not to."""
    return {VARIABLE: "1"} if trial.tcp.get(SETTING) else {}


def prepare(trial: Trial, client: Namespace) -> None:
    """Let the client's kernel open a subflow over the second link; raise MachineError if it cannot."""
    if trial.tcp.get(SETTING):
        mptcp.add_subflow_endpoint(client, plan_of(trial).second_client, backup=bool(trial.tcp.get(BACKUP)))


def counts(trial: Trial, server: Namespace, clients: Iterable[Observations]) -> dict[str, float]:
    """Return how many connections used several paths, and how many further paths they had; {} if none was to.

    The server's kernel counts connections of Multipath TCP, and the subflows that joined. The clients' `path` lines
    have the paths of Multipath QUIC, and a path counts if it brought something.
    """
    if trial.tcp.get(SETTING):
        counted = mptcp.counted(server)
        return {_CONNECTIONS: float(counted.get("MPCapableACKRX", 0)), _JOINS: float(counted.get("MPJoinAckRx", 0))}
    return quic_counts(clients) if over_several_paths(trial) else {}


def quic_counts(clients: Iterable[Observations]) -> dict[str, float]:
    """Return what `counts` returns of Multipath QUIC."""
    lines = [line for client in clients for line in client.events("path")]
    connections = {str(line.get("connection")) for line in lines}
    further = [line for line in lines if line.get("local") != line.get("connection") and line.get("received_bytes")]
    return {_CONNECTIONS: float(len(connections)), _JOINS: float(len(further))}


def judge(trial: Trial, observed: Mapping[str, float]) -> Judgement | None:
    """Return the outcome of a trial that asked for several paths and did not get them; None if it did."""
    if observed.get(_CONNECTIONS):
        return None
    if trial.tcp.get(SETTING):
        return Judgement(
            Outcome.FAILED,
            "no connection used Multipath TCP, as the server's kernel counts them",
            f"both programs must open such sockets where {VARIABLE} is 1: quic-go does",
            complete=True,
        )
    if over_several_paths(trial):
        return Judgement(
            Outcome.FAILED,
            "no connection used Multipath QUIC, as the client reports",
            "both ends must have the knob multipath: see client.jsonl and server.stderr",
            complete=True,
        )
    return None
