"""`echo`: datagrams of declared sizes that the server answers with the same: which sizes pass, and how soon."""

from collections.abc import Mapping
from dataclasses import replace

from longlook.core import Content, Echo, InputError, Parameter, Scalar, WorkloadKind, echoes, units
from longlook.provision import make_content

MOST_TRIES = 100
LEAST_INTERVAL_S, LONGEST_INTERVAL_S = 0.01, 60


def prepare(parameters: Mapping[str, Scalar]) -> Content:
    """Return what the client is asked to send; the server has no files to serve.

    Raise InputError for a parameter out of bounds.
    """
    tries, interval_s = int(parameters["tries"]), float(parameters["interval_s"])
    if not 1 <= tries <= MOST_TRIES:
        raise InputError(
            f"workload echo: tries = {tries}", f"1 to {MOST_TRIES}: a size that is never sent says nothing"
        )
    if not LEAST_INTERVAL_S <= interval_s <= LONGEST_INTERVAL_S:
        raise InputError(
            f"workload echo: interval = {interval_s:g}s", f"{LEAST_INTERVAL_S:g}s to {LONGEST_INTERVAL_S:g}s"
        )
    try:
        sizes = echoes.payloads(str(parameters["payload"]))
    except units.UnitError as error:
        raise InputError(f"workload echo: payload: {error}", echoes.FORM) from error
    return replace(make_content("echo", {}, lambda _to: ()), echo=Echo(sizes, tries, interval_s))


WORKLOAD = WorkloadKind(
    name="echo",
    summary="datagrams of each size in turn, so many tries at an interval, that the server answers with the same",
    parameters={
        "payload": Parameter("payloads", f"UDP payloads, tried in ascending order: {echoes.FORM}"),
        "tries": Parameter(
            "count", "datagrams of each size, until the first answer", default=3, minimum=1, maximum=MOST_TRIES
        ),
        "interval_s": Parameter(
            "time",
            "from one try to the next, and from the last to giving the size up",
            default=1,
            minimum=LEAST_INTERVAL_S,
            maximum=LONGEST_INTERVAL_S,
        ),
    },
    prepare=prepare,
    echoes=True,
)
