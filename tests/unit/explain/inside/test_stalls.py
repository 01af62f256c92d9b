"""What a stall waited for, and what that time went on; on the play that the metrics' tests write by hand."""

import numpy as np
import pyarrow as pa

from longlook.explain.inside.playback import stalls_of
from longlook.explain.ledger import LEDGER_SCHEMA, Ledger
from longlook.timeline.playback import Playback
from tests.unit.metrics.test_video_metrics import PLAYED, play, row, segment, timeline

S = 10**9


def ledger(*rows: tuple[float, str]) -> Ledger:
    """A ledger with these classes, each until a time in seconds; it begins at 0."""
    ends = np.array([round(end * S) for end, _ in rows])
    columns = [np.append(0, ends[:-1]), ends, [name for _, name in rows], [None] * len(rows)]
    return Ledger(pa.table([pa.array(column) for column in columns], LEDGER_SCHEMA.names).cast(LEDGER_SCHEMA))


def of(timeline_: object = PLAYED) -> Playback:
    found = Playback.of(timeline_)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_a_stall_waits_for_the_segment_with_which_playing_goes_on() -> None:
    known = ledger(
        (3, "handshake"), (4, "link_useful"), (7.5, "congestion_window"), (9, "link_useful"), (14, "client_idle")
    )
    (stall,) = stalls_of(of(), known, 1 * S)
    assert (stall.start_ns, stall.end_ns) == (5 * S, 7 * S)
    assert stall.late is not None and (stall.late.number, stall.late.rung) == (1, "high")
    assert stall.position_ns == (1 * S, 7 * S)  # asked for at 2 s, there at 8 s
    assert list(stall.spent_ns.items()) == [
        ("congestion_window", round(3.5 * S)), ("link_useful", round(1.5 * S)), ("handshake", S),
    ]  # fmt: skip


def test_a_stall_to_the_end_waits_for_nothing_that_came() -> None:
    rows = [row(0, "request_sent", name="/m"), *segment(0, "low", 1, 2), play(2, "started", 0)]
    endless = timeline(*rows, *segment(1, "low", 2, None), play(6, "stalled", 4), play(16, "ended", 4))
    (stall,) = stalls_of(of(endless), None, 0)
    assert (stall.late, stall.position_ns, dict(stall.spent_ns)) == (None, None, {})
