"""Which ends two arms have alike: what differs between the arms is then not that end's doing. Pure."""

from longlook.core.model import Trial
from longlook.explain.pair import Pair

ENDS = ("server", "client")


def alike(pair: Pair, role: str) -> bool:
    """Return whether both arms have the same program at an end, with the same settings, over the same protocol.

    Settings of the kernel's TCP are of both ends. A path is no end: False for any other role.
    """
    return role in ENDS and _end(pair.loser.trial, role) == _end(pair.winner.trial, role)


def _end(trial: Trial, role: str) -> tuple[object, ...]:
    end = trial.server if role == "server" else trial.client
    share = trial.client_cpu_share if role == "client" else None
    transport = trial.protocol, trial.connection, trial.congestion_control, dict(trial.tcp)
    return end, dict(end.knobs), trial.processors.get(role), share, *transport
