"""The contents of the atlas: every study of every paper with its claims, its run and its explanations.

Pure: `run` fills it from entries, and `page` draws it (docs/guide/claims.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from longlook.core import Agreement, ClaimResult, Study, codec
from longlook.instruments.atlas.claims.counts import counts_by_kind, result_counts
from longlook.instruments.atlas.claims.entry import Entry, with_statements
from longlook.instruments.atlas.claims.survey import Survey, SurveyedClaim, SurveyedStudy, disputes_data
from longlook.instruments.atlas.papers import Paper, paper_of

SCHEMA_VERSION = 2
"""The version of atlas.json."""


class PageState(StrEnum):
    """Whether the page shows a run of a study."""

    RUN = "run"
    BEGUN = "begun"  # some of its trials are there; the next call goes on
    NOT_RUN = "not run"
    LEFT_OUT = "left out"  # not run unless it is named or asked for
    FAILED = "failed"  # this call could not run it
    DAMAGED = "damaged"  # its entry, or its run folder without one, cannot be read


@dataclass(frozen=True)
class Explanation:
    """An answer of `longlook explain` about a cell of a run. `link` leads to the page that proves it, if that is at
    hand.
    """

    contrast: str
    cell_id: str
    sentence: str
    link: str | None


@dataclass(frozen=True)
class AtlasStudy:
    """A study on the page. `reason` is why no run of it counts, or what a reader must know of the run that does."""

    surveyed: SurveyedStudy
    state: PageState
    reason: str = ""
    entry: Entry | None = None  # of the run that counts
    earlier: bool = False  # the entry is of an earlier version of the study: its plan is another
    explanations: tuple[Explanation, ...] = ()
    disputes: tuple[str, ...] = ()  # ids of those that it is evidence for

    @property
    def id(self) -> str:
        """The study's name."""
        return self.surveyed.study.id

    @property
    def results(self) -> str | None:
        """The digest of the run's exact results."""
        return None if self.entry is None else self.entry.results

    @property
    def claims(self) -> tuple[SurveyedClaim, ...]:
        """The study's claims with their results."""
        return self.surveyed.claims


@dataclass(frozen=True)
class AtlasPaper:
    """A paper with its studies, in reading order."""

    paper: Paper
    studies: tuple[AtlasStudy, ...]

    @property
    def claims(self) -> list[SurveyedClaim]:
        """All claims of the paper's studies."""
        return [claim for study in self.studies for claim in study.claims]


@dataclass(frozen=True)
class Atlas:
    """Everything on the page. `survey` has the same claims by study, and the disputes."""

    papers: tuple[AtlasPaper, ...]
    survey: Survey

    @property
    def studies(self) -> list[AtlasStudy]:
        """All studies of all papers."""
        return [study for paper in self.papers for study in paper.studies]

    @property
    def claims(self) -> list[SurveyedClaim]:
        """All claims of all studies."""
        return [claim for paper in self.papers for claim in paper.claims]


def evidence_for(survey: Survey) -> dict[str, tuple[str, ...]]:
    """Return for each study the disputes that it is evidence for."""
    found: dict[str, list[str]] = {}
    for item in survey.disputes:
        for study in dict.fromkeys(judged.evidence.study for judged in item.evidence):
            found.setdefault(study, []).append(item.dispute.id)
    return {study: tuple(ids) for study, ids in found.items()}


def atlas_data(atlas: Atlas) -> dict[str, Any]:
    """Return the content of atlas.json."""
    return {
        "schema_version": SCHEMA_VERSION,
        "statements": counts_by_kind(atlas.claims),
        "summary": result_counts(atlas.claims),
        "papers": [_paper_data(paper) for paper in atlas.papers],
        "disputes": disputes_data(atlas.survey),
    }


def _paper_data(item: AtlasPaper) -> dict[str, Any]:
    return {**codec.encode(item.paper), "studies": [_study_data(study) for study in item.studies]}


def _study_data(item: AtlasStudy) -> dict[str, Any]:
    surveyed = item.surveyed
    study = surveyed.study
    return {
        "study": study.id,
        "title": study.title,
        "question": study.question,
        "source": study.source,
        "state": str(item.state),
        "reason": item.reason,
        "command": surveyed.command,
        "results": item.results,
        "run": codec.encode(surveyed.run),
        "summary": result_counts(surveyed.claims),
        "claims": codec.encode(surveyed.claims),
        "explanations": codec.encode(item.explanations),
        "disputes": codec.encode(item.disputes),
    }


@dataclass(frozen=True)
class SummaryRow:
    """A study in the table of an atlas. `state` is why it has no entry; `earlier` is whether the entry is of an earlier
    version of the study.
    """

    study: str
    paper: str
    counts: Mapping[str, int]  # claims by result
    entry: Entry | None
    state: str = ""
    earlier: bool = False


def summary_rows(atlas: Atlas) -> list[SummaryRow]:
    """Return a row for each study that has claims or a run."""
    return [
        SummaryRow(item.id, paper.paper.key, result_counts(item.claims), item.entry, str(item.state), item.earlier)
        for paper in atlas.papers
        for item in paper.studies
        if item.claims or item.entry
    ]


def judged(study: Study, entry: Entry) -> list[ClaimResult]:
    """Return the claims of a study by the values of its entry: claims that are new since then are not run."""
    found = {item.claim.id: item for item in with_statements(entry, study).claim_results()}
    since = (ClaimResult(claim, None, Agreement.NOT_RUN, "new") for claim in study.claims if claim.id not in found)
    return [*found.values(), *since]


def summary_row(study: Study, entry: Entry, plan_hash: str) -> SummaryRow:
    """Return the row of an entry; `plan_hash` is of its study as it is now."""
    counts = result_counts(judged(study, entry))
    return SummaryRow(study.id, paper_of(study).key, counts, entry, earlier=entry.plan_hash != plan_hash)
