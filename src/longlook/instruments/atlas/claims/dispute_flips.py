"""The flips of a dispute's answer: the one thing that differs between two values at which other positions hold.

Values are compared if everything but one thing is the same: a level of a factor, the contrast or arm, the study, or the
metric. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from longlook.core import Contrast, Study, codec
from longlook.instruments.atlas.claims.dispute import Dispute
from longlook.instruments.atlas.claims.dispute_judge import (
    ConclusionKind,
    DisputeConclusion,
    JudgedEvidence,
    conclude_all,
    controls_text,
    how_many_decide,
)

Coordinates = Mapping[str, str]
"""Everything that places a value: study, metric, contrast or arm, and a level of each factor."""


SEVERAL_FLIPS = 3
"""The number of flips from which on a conclusion names what is changed, and leaves the changes to the list of flips."""


@dataclass(frozen=True)
class Flip:
    """A change of one thing alone that changes the answer, in each of `places`, which are otherwise the same.

    `settings` are the settings in which the arms, or the studies, differ; a level of a factor names itself.
    `before_holds` and `after_holds` are positions; none of the one is among the other.
    """

    what: str  # a factor's name, or study, contrast, arm or metric
    before: str
    after: str
    before_holds: tuple[str, ...]
    after_holds: tuple[str, ...]
    places: tuple[str, ...]
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Answered:
    """A value that decides: its place, and the positions that hold there, in the order of the file."""

    at: Coordinates
    along: str  # the factor along which its positions were judged
    holds: tuple[str, ...]


def find_flips(dispute: Dispute, judged: Sequence[JudgedEvidence], studies: Mapping[str, Study]) -> tuple[Flip, ...]:
    """Return what flips the answer, by what is changed, in the order in which the evidence has it.

    Neighbours are compared: of levels that decide, and of contrasts, arms, studies and metrics in the order of the
    evidence. Positions of trends are compared along one factor only, as a trend along another is another question.
    """
    answered = list(_answered(judged))
    trends = any(position.holds.trend for position in dispute.positions)
    found: dict[tuple[str, ...], Flip] = {}
    for what in dict.fromkeys(name for item in answered for name in item.at):
        for one, other in _neighbours(answered, what, trends=trends):
            if set(one.holds) & set(other.holds) or not (one.holds or other.holds):
                continue
            before, after = one.at[what], other.at[what]
            key = what, before, after, "|".join(one.holds), "|".join(other.holds)
            place = _place(one.at, what, answered)
            known = found.get(key)
            if known is None:
                settings = _settings(what, one.at, other.at, studies)
                found[key] = Flip(what, before, after, one.holds, other.holds, (place,), settings)
            elif place not in known.places:
                found[key] = replace(known, places=(*known.places, place))
    return tuple(found.values())


def conclude_dispute(dispute: Dispute, judged: Sequence[JudgedEvidence], flips: Sequence[Flip]) -> DisputeConclusion:
    """Return the conclusion about a dispute: from its evidence, or as its file gives it in place of any.

    If several changes flip the answer, the conclusion names the changed things; `flips` has the changes.
    """
    if dispute.settled is not None:
        settled = dispute.settled
        text = f"‘{settled.holds}’ follows from what the sources print: {settled.by.rstrip('.')}"
        return DisputeConclusion(ConclusionKind.SETTLED, text, (settled.holds,))
    if dispute.undecidable is not None:
        why, needs = dispute.undecidable.why.rstrip("."), dispute.undecidable.needs.rstrip(".")
        return DisputeConclusion(
            ConclusionKind.UNDECIDABLE, f"cannot be decided here: {why}. What would decide it: {needs}"
        )
    found = conclude_all(judged)
    if (
        found.kind not in (ConclusionKind.FLIPS, ConclusionKind.DIFFERS)
        or len(flips) < SEVERAL_FLIPS
        or found.judged == 1
    ):
        return found
    *most, last = dict.fromkeys(flip.what for flip in flips)
    names = f"{', '.join(most)} and {last}" if most else last
    text = f"it depends on {names}: {len(flips)} changes of one thing alone flip the answer"
    rest = f"{how_many_decide(found.decided, found.judged)}{controls_text(judged)}"
    return replace(found, kind=ConclusionKind.FLIPS, text=f"{text}{rest}")


def _answered(judged: Sequence[JudgedEvidence]) -> Iterator[_Answered]:
    for item in judged:
        for number, point in enumerate(item.points):
            answer = item.answer(number)
            if answer is None:
                continue
            sides = {name: value for name, value in item.evidence.sides.items() if name != "factor" and value}
            at = {**sides, item.evidence.factor: point.level}
            yield _Answered(at, item.evidence.factor, tuple(name for name in item.held if name in answer))


def _neighbours(answered: Sequence[_Answered], what: str, *, trends: bool) -> Iterator[tuple[_Answered, _Answered]]:
    """Yield neighbours among the values that differ in one thing alone."""
    lines: dict[tuple[object, ...], dict[str, _Answered]] = {}
    for item in answered:
        if what in item.at:
            rest = tuple(sorted((name, value) for name, value in item.at.items() if name != what))
            line = lines.setdefault((rest, item.along if trends else ""), {})
            line.setdefault(item.at[what], item)
    for line in lines.values():
        yield from pairwise(line.values())


def _place(at: Coordinates, what: str, answered: Sequence[_Answered]) -> str:
    """Return what else must be said of a place: all in which values of the dispute differ, but what is changed."""
    differing = [name for name in at if name != what and len({item.at.get(name) for item in answered}) > 1]
    return ", ".join(f"{name} {at[name]}" for name in differing)


def _settings(what: str, one: Coordinates, other: Coordinates, studies: Mapping[str, Study]) -> tuple[str, ...]:
    """Return the settings that differ if the changed thing does not name them itself."""
    before, after = studies.get(one["study"]), studies.get(other["study"])
    if before is None or after is None:
        return ()
    if what == "study":
        return changes(after, before)
    if what == "arm":
        return _between_arms(after, one["arm"], other["arm"])
    if what == "contrast":
        contrasts: dict[str, Contrast] = {item.name: item for item in after.contrasts}
        old, new = contrasts[one["contrast"]], contrasts[other["contrast"]]
        if old.baseline == new.baseline:
            return _between_arms(after, old.contender, new.contender)
        if old.contender == new.contender:
            return _between_arms(after, old.baseline, new.baseline)
    return ()


def _between_arms(study: Study, before: str, after: str) -> tuple[str, ...]:
    arms = {arm.name: arm.settings for arm in study.arms}
    return tuple(changed_settings("", arms[after], arms[before]))


def changes(ran: Study, installed: Study) -> tuple[str, ...]:
    """Return the settings in which a study departs from another: `network.rtt = 112ms instead of 36ms`."""
    arms = {arm.name: arm.settings for arm in installed.arms}
    found = changed_settings("", ran.settings, installed.settings)
    for arm in ran.arms:
        if arm.name in arms:
            found += changed_settings(f"arms.{arm.name}.", arm.settings, arms[arm.name])
    return (*found, *changed_settings("analysis.", codec.encode(ran.analysis), codec.encode(installed.analysis)))


def changed_settings(prefix: str, ran: Mapping[str, Any], installed: Mapping[str, Any]) -> list[str]:
    """Return the settings in which `ran` differs from `installed`, each with its name behind `prefix`."""
    names = dict.fromkeys([*ran, *installed])
    return [
        f"{prefix}{name} = {ran.get(name, 'its default')} instead of {installed.get(name, 'its default')}"
        for name in names
        if ran.get(name) != installed.get(name)
    ]
