"""What is tried where confirmed causes leave a substantial part of a gap: a screening of settings, and single losses.

What either suspects is confirmed or refuted by the same trials as any other finding: one change, in all rounds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from longlook.explain.answer import LossSearch, Screening, is_needed
from longlook.explain.pair import Pair
from longlook.explain.search.suspects import Suspect
from longlook.pipeline.explain.losses import search_losses
from longlook.pipeline.explain.screening import screen_settings
from longlook.pipeline.explain.session import Judgement, Session


@dataclass(frozen=True)
class Searched:
    """What a search found, judged beside what detectors had found."""

    judgement: Judgement
    screening: Screening
    losses: LossSearch | None  # None: what the screening found explains the gap


def search(session: Session, pairs: Mapping[int, Pair], judgement: Judgement) -> Searched:
    """Screen settings and test what they suspect; where that leaves much of the gap, do so with its losses."""
    screening, settings = screen_settings(session, pairs, judgement)
    if settings:
        judgement = _tested(session, settings)
    if not is_needed(judgement.findings, judgement.together):
        return Searched(judgement, screening, None)
    losses, lost = search_losses(session, pairs)
    if lost is not None:
        judgement = _tested(session, [lost])
    return Searched(judgement, screening, losses)


def _tested(session: Session, suspects: Sequence[Suspect]) -> Judgement:
    wanted = [(one.finding, one.interventions) for one in suspects]
    return session.judged(wanted, {one.finding.cause: one.cause for one in suspects}, suspects[0].found_by)
