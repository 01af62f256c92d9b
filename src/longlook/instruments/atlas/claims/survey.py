"""Several runs beside everything that was published: the contents of the claims page (docs/guide/claims.md)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from longlook.analysis import WelchVerdict
from longlook.core import Agreement, Claim, Study, codec
from longlook.instruments.atlas.claims.counts import counts_by_kind, result_counts
from longlook.instruments.atlas.claims.dispute import Dispute
from longlook.instruments.atlas.claims.dispute_flips import Flip
from longlook.instruments.atlas.claims.dispute_judge import DisputeConclusion, JudgedEvidence

SCHEMA_VERSION = 4
"""The version of the page's claims.json."""


@dataclass(frozen=True)
class SurveyedRun:
    """A run that was given, as a folder or as an entry of an atlas.

    `report` is the path of its page as seen from ours, or None if it has none. `at_hand` is whether its run folder is.
    """

    study: str
    path: str
    report: str | None
    engine: str
    command: str
    made_unix_s: int
    trials: int
    good: int  # of these, how many ended ok
    at_hand: bool
    changes: tuple[str, ...] = ()  # settings in which it departs from the study as it is installed
    replaced_by: str | None = None  # the newer run of the same study, which counts
    altered: int = field(default=0, metadata={"omitted_when_empty": True})  # trials not as they were sealed


@dataclass(frozen=True)
class Ours:
    """Our value: a contrast's effect, or the level of an arm, with its interval, over n rounds."""

    kind: str  # effect | level
    value: float | None
    low: float | None
    high: float | None
    unit: str
    n: int


@dataclass(frozen=True)
class SurveyedClaim:
    """A claim in words, our value, and the result. `link` leads to the cell in the run's report.

    `welch` is the verdict of the papers' own test on our values, or None if it says nothing.
    """

    study: str
    statement: str
    published: str
    claim: Claim
    ours: Ours | None
    result: Agreement
    reason: str
    link: str | None
    welch: WelchVerdict | None = None
    factor: float | None = None  # between the published ratio of the arms and ours


@dataclass(frozen=True)
class SurveyedStudy:
    """A study with its claims; without a run none of them has a value. `command` runs it."""

    study: Study
    run: SurveyedRun | None
    claims: tuple[SurveyedClaim, ...]
    command: str


@dataclass(frozen=True)
class SurveyedDispute:
    """A dispute, each piece of evidence judged, and the conclusion. `commands` run what is missing.

    `flips` name what changes the answer when it alone is changed.
    """

    dispute: Dispute
    evidence: tuple[JudgedEvidence, ...]
    conclusion: DisputeConclusion
    commands: tuple[str, ...]
    flips: tuple[Flip, ...] = ()


@dataclass(frozen=True)
class Survey:
    """All contents of the page. Studies that were run come first, in the order given; the others follow."""

    runs: tuple[SurveyedRun, ...]
    studies: tuple[SurveyedStudy, ...]
    disputes: tuple[SurveyedDispute, ...]

    @property
    def claims(self) -> list[SurveyedClaim]:
        """All claims of all studies."""
        return [item for study in self.studies for item in study.claims]

    @property
    def covered(self) -> list[SurveyedStudy]:
        """The studies that were run."""
        return [item for item in self.studies if item.run is not None]

    @property
    def not_run(self) -> list[SurveyedStudy]:
        """The studies that no run covers."""
        return [item for item in self.studies if item.run is None]


def command_for(study_id: str) -> str:
    """Return the command that runs a study of this installation."""
    return f"longlook run {study_id}"


def survey_data(survey: Survey) -> dict[str, Any]:
    """Return the content of claims.json."""
    return {
        "schema_version": SCHEMA_VERSION,
        "summary": {
            "statements": counts_by_kind(survey.claims),
            "total": result_counts(survey.claims),
            "studies": {item.study.id: result_counts(item.claims) for item in survey.studies},
        },
        "runs": codec.encode(survey.runs),
        "not_run": {item.study.id: item.command for item in survey.not_run},
        "claims": codec.encode(survey.claims),
        "disputes": disputes_data(survey),
    }


def disputes_data(survey: Survey) -> list[dict[str, Any]]:
    """Return the disputes as claims.json has them."""
    return [_dispute_data(item) for item in survey.disputes]


def _dispute_data(item: SurveyedDispute) -> dict[str, Any]:
    return {
        "id": item.dispute.id,
        "question": item.dispute.question,
        "positions": codec.encode(item.dispute.positions),
        "evidence": [
            {
                **codec.encode(judged.evidence),
                "levels": [
                    {
                        **codec.encode(point),
                        "positions": {name: str(held[number]) for name, held in judged.held.items()},
                    }
                    for number, point in enumerate(judged.points)
                ],
                "conclusion": codec.encode(judged.conclusion),
            }
            for judged in item.evidence
        ],
        "conclusion": codec.encode(item.conclusion),
        "flips": codec.encode(item.flips),
        "undecidable": codec.encode(item.dispute.undecidable),
        "settled": codec.encode(item.dispute.settled),
        "commands": codec.encode(item.commands),
    }


def newest(runs: Sequence[SurveyedRun]) -> SurveyedRun:
    """Return the run that counts among runs of one study: the last one to end, and of equals the last one given."""
    return max(reversed(runs), key=lambda run: run.made_unix_s)
