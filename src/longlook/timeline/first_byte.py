"""How long a load waits for the first byte of its first answer. Pure."""

import pyarrow.compute as pc

from longlook.timeline.timeline import Kind, Timeline


def waiting_ns(timeline: Timeline) -> int | None:
    """Return the time from the first request, or a browser's navigation start, to the first byte of its answer.

    None if either is missing.
    """
    started = timeline.select(Kind.PAGE_STARTED)
    answered = timeline.select(Kind.PAGE_FIRST_BYTE)
    if started.num_rows == 0:
        started = timeline.select(Kind.REQUEST_SENT).slice(0, 1)
        answered = timeline.select(Kind.FIRST_BYTE)
        if started.num_rows:
            answered = answered.filter(pc.equal(answered["name"].cast("string"), started["name"][0].as_py()))
            if (flow := started["flow"][0].as_py()) is not None:  # of several connections, the request's own
                answered = answered.filter(pc.equal(answered["flow"].cast("string"), flow))
    if started.num_rows == 0 or answered.num_rows == 0:
        return None
    return int(answered["time_ns"][0].as_py()) - int(started["time_ns"][0].as_py())
