"""What another machine, on which a client runs, did to a trial.

Pure: nothing here touches the machine or imports `lab.linux`.
"""

from longlook.lab.observations import FlowCase, Stopped


def fault_elsewhere(case: FlowCase) -> str | None:
    """Return in words why the client's machine is to blame, and nothing that was measured; None where it is not."""
    if not case.remote:
        return None
    for line in case.client.events("error"):
        if line.get("disturbed") is True:
            return f"the client's machine: {line.get('reason')}"
    summaries = case.link.events("summary")
    nothing_came = bool(summaries) and summaries[-1].get("up", {}).get("arrived") == 0
    if nothing_came and case.stopped in (Stopped.CLIENT_ENDED, Stopped.CLIENT_HUNG):
        return (
            "the client's machine: none of its packets came to this one; is this its gateway, and does no firewall "
            "here drop what is forwarded to ll-phone?"
        )
    return None
