"""The part of `judge` about a proxy in the middle: whether it ran, and whether it carried the load.

What proves that is the server's own report: every connection came from the middle's address.

Pure, as `judge` is.
"""

from longlook.core.model import Outcome
from longlook.lab.judgement import Judgement
from longlook.lab.observations import FlowCase, Stopped


def never_reached(case: FlowCase) -> str:
    """Return that the server saw nothing of the proxy, to be put behind the reason why nothing arrived; "" if not."""
    if case.trial.proxy is None or case.server.events("connection") or not case.server_reports_state:
        return ""
    return "; the server saw no connection of the proxy"


def running(case: FlowCase, ending: str) -> Judgement | None:
    """Check that the proxy was ready in time and ran until the client was done; `ending` says how it ended."""
    if case.stopped is Stopped.PROXY_STARTED_LATE:
        return Judgement(Outcome.TIMED_OUT, "the proxy hung: it never printed its ready line", "see proxy.stderr")
    if case.stopped is not Stopped.PROXY_ENDED:
        return None
    when = "before the client was done" if case.proxy.events("ready") else "at its start"
    return Judgement(Outcome.FAILED, f"the proxy ended {when} ({ending}){case.proxy.cause()}", "see proxy.stderr")


def carried(case: FlowCase, address: str) -> Judgement | None:
    """Check that the load came to the server through the proxy, whose address is given."""
    if case.trial.proxy is None:
        return None
    remotes = [str(line.get("remote")).rpartition(":")[0] for line in case.server.events("connection")]
    if not remotes:
        return Judgement(
            Outcome.INVALID if not case.server_reports_state else Outcome.FAILED,
            "the server reported no connection, so nothing proves that the proxy carried the load",
            "see proxy.jsonl and server.jsonl; use a server that reports its connections",
            complete=True,
        )
    if strangers := sorted({remote for remote in remotes if remote != address}):
        return Judgement(
            Outcome.FAILED,
            f"the server was reached from {', '.join(strangers)}, not from the proxy at {address} alone",
            "see server.jsonl: the client must send everything to the address of its job",
            complete=True,
        )
    return None
