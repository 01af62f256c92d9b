"""Entries: all that pages need to know of a run of a study, in a file small enough to keep in a repository
(docs/guide/claims.md). Pure.
"""

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from longlook.analysis import judge
from longlook.core import ArmLevel, ClaimResult, Estimate, Study, codec

SCHEMA_VERSION = 2
"""The version of entries.

Entries of version 1 also have what their analysis said of claims, which is left out here. Claims are judged from
effects and levels whenever an entry is read, so that a better rule needs no new run.
"""

_READABLE = (1, SCHEMA_VERSION)

_LINE = 160
"""Data that fit into this number of characters stand on one line of the file."""

_TABLE = {"columns of", "rows"}


@dataclass(frozen=True)
class Explained:
    """The sentence of an explanation. Explanations stand in the order of the page that proves them."""

    contrast: str
    cell_id: str
    sentence: str


@dataclass(frozen=True)
class Effort:
    """The effort of the trials of a run that did not come from the cache: CPU time, and time on one job, in s."""

    trials: int
    cpu_s: float
    job_s: float


@dataclass(frozen=True)
class Entry:
    """A run of a study without its trials.

    `estimates` are about the contrasts, and about what disputes ask beside them. Their dependences on drawn
    settings are reduced to the cliff. `levels` are the levels of arms in claims and disputes. `cells` are the cells
    that ran: id → levels by factor.
    """

    study: Study  # as it was planned
    plan_hash: str
    results: str | None  # the digest of the exact results; None: no trial was exact
    engine: str
    command: str
    made_unix_s: int
    trials: int
    good: int  # of these, how many ended ok
    effort: Effort | None  # None: unknown, or everything came from the cache
    longlook: str  # its version
    programs: Mapping[str, str]  # name with version → SHA-256
    cells: Mapping[str, Mapping[str, str]]
    estimates: tuple[Estimate, ...]
    levels: tuple[ArmLevel, ...]
    explanations: tuple[Explained, ...] = ()
    altered: int = field(
        default=0, metadata={"omitted_when_empty": True}
    )  # trials counted out: not as they were sealed

    @property
    def day(self) -> str:
        """The day on which the run ended, in UTC: `2026-11-23`."""
        return datetime.datetime.fromtimestamp(self.made_unix_s, datetime.UTC).date().isoformat()

    def claim_results(self) -> list[ClaimResult]:
        """Return the claims of the study, judged by our values."""
        own = {contrast.name: contrast.metric for contrast in self.study.contrasts}
        estimates = [item for item in self.estimates if own.get(item.contrast) == item.metric]
        return judge(self.study.claims, estimates, self.study, self.levels)


def without_drawn(item: Estimate) -> Estimate:
    """Return an estimate that depends on nothing but its cliff."""
    return replace(item, dependences=() if item.cliff is None else (item.cliff,))


def worded_as(entry: Entry, study: Study) -> Entry:
    """Return an entry with the title, the question, the source, the notes and the labels of arms of the same study."""
    labels = {arm.name: arm.label for arm in study.arms}
    arms = tuple(replace(arm, label=labels.get(arm.name, arm.label)) for arm in entry.study.arms)
    reworded = replace(
        entry.study, arms=arms, title=study.title, question=study.question, source=study.source, notes=study.notes
    )
    return replace(entry, study=reworded)


def with_statements(entry: Entry, study: Study) -> Entry:
    """Return an entry with the claims of the same study as it is installed, so that a corrected claim needs no new run.

    If more than words and claims differ, the entry keeps its own claims, which count as the installed ones do.
    """
    if replace(worded_as(entry, study).study, claims=study.claims) == study:
        return replace(entry, study=replace(entry.study, claims=study.claims))
    names = {claim.id: claim.counts_as for claim in study.claims}
    claims = tuple(replace(claim, counts_as=names.get(claim.id, claim.counts_as)) for claim in entry.study.claims)
    return replace(entry, study=replace(entry.study, claims=claims))


def entry_text(entry: Entry) -> str:
    """Return the file of an entry: the same entry gives the same text."""
    data = codec.encode(entry)
    file = {"schema_version": SCHEMA_VERSION, "digest": codec.content_hash(data), **data}
    return _text(_packed(file)) + "\n"


def entry_of(text: str) -> Entry:
    """Return the entry of a file's text; ValueError if it is none, of another schema, or not as it was written."""
    data = _unpacked(json.loads(text))
    if not isinstance(data, dict) or "schema_version" not in data:
        raise ValueError("it is no entry of an atlas")
    if (version := data.pop("schema_version")) not in _READABLE:
        raise ValueError(f"it has schema version {version}, this Longlook reads {SCHEMA_VERSION}")
    if (digest := data.pop("digest", None)) != codec.content_hash(data):
        raise ValueError(f"its content is not the one of its digest {digest}")
    if version == 1:
        del data["claims"]
    return codec.decode(Entry, data)


def _packed(data: Any) -> Any:
    """Return data with each list of several objects that have the same keys as a table, which names them once."""
    if isinstance(data, dict):
        return {key: _packed(value) for key, value in data.items()}
    if not isinstance(data, list):
        return data
    keys = list(data[0]) if len(data) > 1 and isinstance(data[0], dict) else []
    if keys and all(isinstance(item, dict) and list(item) == keys for item in data):
        return {"columns of": keys, "rows": [[_packed(value) for value in item.values()] for item in data]}
    return [_packed(item) for item in data]


def _unpacked(data: Any) -> Any:
    if isinstance(data, list):
        return [_unpacked(item) for item in data]
    if not isinstance(data, dict):
        return data
    if data.keys() == _TABLE:
        return [dict(zip(data["columns of"], map(_unpacked, row), strict=True)) for row in data["rows"]]
    return {key: _unpacked(value) for key, value in data.items()}


def _text(data: Any) -> str:
    """Return JSON in which short parts, and each row of a table, stand on one line."""
    line = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    if len(line) <= _LINE or not isinstance(data, dict | list):
        return line
    if isinstance(data, list):
        return "[\n" + ",\n".join(map(_text, data)) + "\n]"
    if data.keys() == _TABLE:
        rows = ",\n".join(json.dumps(row, separators=(",", ":"), ensure_ascii=False) for row in data["rows"])
        head = json.dumps(data["columns of"], separators=(",", ":"))
        return f'{{"columns of":{head},"rows":[\n{rows}\n]}}'
    return "{\n" + ",\n".join(f"{json.dumps(key)}:{_text(value)}" for key, value in data.items()) + "\n}"
