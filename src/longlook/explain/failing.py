"""Trials of an arm that failed: what they share, beside trials of the other arm that went well. Pure."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from longlook.core import Trial
from longlook.explain.cause import Cause
from longlook.explain.facts import DROPPED, LinkFacts
from longlook.explain.pair import Pair
from longlook.timeline import Kind, Timeline

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SILENT_SHARE = 0.5
MOST_TRACED = 3
"""As many failing rounds as are run again with traces."""
_MOST_FACTS = 8


@dataclass(frozen=True)
class Fact:
    """A fact about failed trials, with their number, and the number of the other arm's good trials that share it."""

    text: str
    failing: int
    others: int


@dataclass(frozen=True)
class FailedArm:
    """An arm with `failed` of `trials` that failed. With traces `again` trials ran, of which `traced` failed, beside
    `others` of the other arm that went well.

    `reasons` are what the trials ended with, with their number; `signs` the causes whose signs they show, none of which
    is tested: a load that failed has no value. The ledgers are means in ms by class, until the failure.
    """

    arm: str
    failed: int
    trials: int
    again: int
    traced: int
    others: int
    reasons: Mapping[str, int]
    facts: tuple[Fact, ...] = ()
    signs: Mapping[str, int] = field(default_factory=dict)
    ledger_ms: Mapping[str, float] = field(default_factory=dict)
    others_ms: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class FailedTrial:
    """A traced trial that failed, or that went well in the other arm."""

    trial: Trial
    timeline: Timeline


def grouped(reasons: Sequence[str]) -> dict[str, int]:
    """Return reasons with their number, the commonest first; such as differ in numbers alone count as the first."""
    first: dict[str, str] = {}
    for reason in reasons:
        first.setdefault(_NUMBER.sub("…", reason), reason)
    counted = Counter(_NUMBER.sub("…", reason) for reason in reasons)
    return {first[key]: count for key, count in counted.most_common()}


def cut(timeline: Timeline) -> Timeline:
    """Return the timeline of a load that did not end as if it had ended with the last that the link or a client saw."""
    if timeline.load_window_ns() is not None or timeline.select(Kind.REQUEST_SENT).num_rows == 0:
        return timeline
    rows = timeline.table
    last = rows.slice(rows.num_rows - 1).to_pylist()[0]
    empty = dict.fromkeys(rows.schema.names)
    end = {**empty, "time_ns": last["time_ns"], "vantage": "client", "kind": str(Kind.OBJECT_FAILED), "priming": False}
    added = pa.Table.from_pylist([{**end, "detail": "cut off"}], schema=rows.schema)
    return Timeline(pa.concat_tables([rows, added]).unify_dictionaries(), timeline.events)


def common(failing: Sequence[FailedTrial], others: Sequence[FailedTrial]) -> tuple[Fact, ...]:
    """Return what holds of the most failing trials, and of the fewest others, first."""
    own = Counter(text for each in failing for text in dict.fromkeys(_facts(each)))
    theirs = Counter(text for each in others for text in dict.fromkeys(_facts(each)))
    ranked = sorted(own, key=lambda text: (-(own[text] / len(failing) - theirs[text] / max(len(others), 1)), text))
    return tuple(Fact(text, own[text], theirs[text]) for text in ranked[:_MOST_FACTS])


def signs_in(pairs: Sequence[Pair], causes: Mapping[str, Cause]) -> dict[str, int]:
    """Return the titles of causes whose signs failing trials show, with the number of trials, the commonest first."""
    found: Counter[str] = Counter()
    for cause in causes.values():
        for pair in pairs:
            try:
                sign = cause.detect(pair)
            except Exception:  # noqa: S112 - a plug-in may raise anything; `suspect` names it where it is asked
                continue
            found[cause.title] += sign is not None and sign.strength_ns > 0
    return {title: count for title, count in found.most_common() if count}


def _facts(each: FailedTrial) -> list[str]:
    timeline, trial = each.timeline, each.trial
    up, down = (LinkFacts.of(timeline, trial, direction) for direction in ("up", "down"))
    return [*_connecting(timeline, up), *_objects(timeline), *_dropped(up, down), *_silence(timeline, up, down)]


def _connecting(timeline: Timeline, up: LinkFacts) -> list[str]:
    found = ["early data was sent"] if (up.ours & up.early).any() else []
    done = timeline.select(Kind.HANDSHAKE_DONE, "client")
    done = done.filter(pa.array(~done["priming"].to_numpy()))
    names = sorted({str(name) for name in done["name"].to_pylist() if name is not None})
    if done.num_rows == 0:
        opened = timeline.select(Kind.CONNECTION_STARTED, "client").num_rows
        return [*found, "the handshake did not end" if opened else "the client opened no connection"]
    return [*found, f"the connection was secure as {' and '.join(names)}" if names else "the connection was secure"]


def _objects(timeline: Timeline) -> list[str]:
    asked, done = (timeline.select(kind, "client").num_rows for kind in (Kind.REQUEST_SENT, Kind.OBJECT_DONE))
    errors = timeline.select(Kind.OBJECT_FAILED, "client")["detail"].to_pylist()
    texts = [f"the client says: {_NUMBER.sub('…', str(error))}" for error in errors if error]
    if asked and done >= asked:
        return [*texts, "every object arrived"]
    some = "some of the objects arrived" if done else "no object arrived"
    return [*texts, some]


def _dropped(up: LinkFacts, down: LinkFacts) -> list[str]:
    found = []
    for link, to in ((up, "server"), (down, "client")):
        lost = link.ours & (link.fate == DROPPED)
        found += [
            f"packets to the {to} are dropped ({link.reasons[code]})" for code in np.unique(link.reason[lost]).tolist()
        ]
    return found


def _silence(timeline: Timeline, up: LinkFacts, down: LinkFacts) -> list[str]:
    span = timeline.load_window_ns()
    if span is None:
        return ["no load ended"]
    seen = [int(link.arrival_ns[link.ours].max()) for link in (up, down) if link.ours.any()]
    if not seen:
        return ["the link saw no packet of the load"]
    is_silent = span[1] - max(seen) > _SILENT_SHARE * (span[1] - span[0])
    return ["nothing passed the link in the last half of the load"] if is_silent else []
