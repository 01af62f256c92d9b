"""A screening of settings: its runs as counterfactual arms, and what their gaps say of each setting. Pure."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from longlook.analysis import Scale, compared, procedures
from longlook.core import Analysis
from longlook.explain import changes
from longlook.explain.answer import Effect, FoundBy
from longlook.explain.attribution import closed_effect
from longlook.explain.cause import Change, Evidence, Finding, Intervention, Says, Sign, Target, Touches
from longlook.explain.counterfactual import CounterfactualPlan
from longlook.explain.detect import LEAST_SHARE_OF_GAP
from longlook.explain.judge import Gap
from longlook.explain.search.factors import ScreenedFactor, joined
from longlook.explain.search.screening_design import (
    MOST_FACTORS,
    Floats,
    Signs,
    least_found,
    main_effects,
    plackett_burman,
    unusable,
)
from longlook.explain.search.suspects import Suspect, searched_cause

ROUNDS = 3
"""Few rounds, as each runs the whole design; every effect is estimated from all trials of them."""

MOST_SUSPECTS = 5
"""More settings than these, the strongest, are not tried one by one in all rounds."""

_SOURCE = "screening of settings; Plackett and Burman, Biometrika 1946"


@dataclass(frozen=True)
class Design:
    """The factors of a screening and its runs. `arms` has for each run its arms, by the arm of the cell that each
    replaces; a text is the reason why a run cannot be made.
    """

    factors: tuple[ScreenedFactor, ...]
    signs: Signs  # (runs, factors)
    arms: tuple[Mapping[str, str] | str, ...]


def admitted(
    candidates: Sequence[ScreenedFactor], tested: Sequence[Change], begun: Callable[[], CounterfactualPlan]
) -> tuple[list[ScreenedFactor], list[str]]:
    """Return the factors whose changes can be made, alone and all at once, and the others with the reason.

    A setting that one of the `tested` changes has changed alone already is left out: its effect is known.
    """
    known = {_keys(change) for change in tested}
    chosen: list[ScreenedFactor] = []
    left_out = []
    for factor in candidates:
        if _keys(factor.change) in known:
            reason = "it was changed alone already"
        elif len(chosen) == MOST_FACTORS:
            reason = f"the largest design has {MOST_FACTORS} settings"
        else:
            plan = begun()
            made = _add(plan, [factor])
            made = _add(begun(), [*chosen, factor]) if isinstance(made, Mapping) and chosen else made
            if isinstance(made, Mapping):
                chosen.append(factor)
                continue
            reason = made
        left_out.append(f"{factor.setting}: {reason}")
    return chosen, left_out


def _keys(change: Change) -> frozenset[str]:
    """Return the keys that a change sets, without the build that it takes for that."""
    return frozenset(change.settings) - {"server", "client"}


def design_of(plan: CounterfactualPlan, chosen: Sequence[ScreenedFactor]) -> Design:
    """Add the runs of the smallest design for some factors to a plan; the last of them changes nothing."""
    signs = plackett_burman(len(chosen))
    arms = [_add(plan, [factor for factor, sign in zip(chosen, row, strict=True) if sign > 0]) for row in signs]
    return Design(tuple(chosen), signs, tuple(arms))


def _add(plan: CounterfactualPlan, chosen: Sequence[ScreenedFactor]) -> Mapping[str, str] | str:
    by_arm = {plan.loser: joined(chosen), plan.winner: joined([one for one in chosen if one.target is Target.BOTH])}
    made = {arm: change for arm, change in by_arm.items() if change.settings}
    return plan.add(made) if made else {}


def gaps(space: Gap, design: Design, rounds: Sequence[int], analysis: Analysis) -> tuple[Floats, Scale]:
    """Return the gap of each run, shape (rounds, runs), and its scale; NaN if a trial failed.

    All gaps are on one scale, as they would not be if only some runs have values that are not positive.
    """
    values = np.full((2, len(rounds), len(design.arms)), math.nan)
    for run, arms in enumerate(design.arms):
        if isinstance(arms, str):
            continue
        for side, own in enumerate((space.loser, space.winner)):
            of_arm = space.values.get(arms.get(own, own), {})
            values[side, :, run] = [of_arm.get(number, math.nan) for number in rounds]
    well = np.isfinite(values).all(axis=0)
    found = np.full(well.shape, math.nan)
    advantage, scale = compared(values[0][well], values[1][well], space.metric, analysis)
    found[well] = advantage
    return found, scale


def is_too_weak(design: Design, observed: Floats, rounds: int, analysis: Analysis, scale: Scale) -> bool:
    """Return whether a design could not find even a setting that closes the whole gap, by the rounds that ran."""
    least = least_found(design.signs, observed, scale.margin, analysis.alpha, rounds)
    return least is not None and least > float(np.nanmean(observed[:, -1]))


def alone(plan: CounterfactualPlan, chosen: Sequence[ScreenedFactor]) -> list[Mapping[str, str] | str]:
    """Add each factor's change alone to a plan; return its arms, or why it cannot be made."""
    return [_add(plan, [factor]) for factor in chosen]


def idle(
    space: Gap, chosen: Sequence[ScreenedFactor], arms: Sequence[Mapping[str, str] | str], number: int
) -> dict[int, str]:
    """Return the factors that cannot act here, by place, with the reason: in this round, alone, they change no packet,
    or make a trial fail.
    """
    found = {}
    for at, (factor, made) in enumerate(zip(chosen, arms, strict=True)):
        if isinstance(made, str):
            continue
        if any(number not in space.values.get(arm, {}) for arm in made.values()):
            found[at] = f"{factor.setting}: trials with {factor.change.label} fail"
        elif all(_same(space, old, new, number) for old, new in made.items()):
            found[at] = (
                f"{factor.setting}: with {factor.change.label} alone no packet has another time, size or fate here"
            )
    return found


def _same(space: Gap, old: str, new: str, number: int) -> bool:
    own = space.traffic.get(old, {}).get(number)
    return own is not None and own == space.traffic.get(new, {}).get(number)


def failing(design: Design, observed: Floats) -> list[int]:
    """Return the factors that make trials fail, as `effects.unusable` does."""
    return unusable(design.signs, observed)


def concluded(
    design: Design, observed: Floats, analysis: Analysis, scale: Scale
) -> tuple[tuple[Effect, ...], list[tuple[ScreenedFactor, float]]] | None:
    """Return the effects of all factors, the largest first, and the suspected factors with what each closes.

    Suspected is what closes more than the margin of equivalence (p adjusted for all factors) and as much of the gap as
    a detector's finding must, MOST_SUSPECTS at most. None: too many runs failed to tell the factors apart.
    """
    found = main_effects(design.signs, observed, scale.margin)
    if found is None:
        return None
    p = procedures.adjust([effect.p for effect in found], analysis.correction)
    gap = float(np.nanmean(observed[:, -1]))
    order = sorted(range(len(found)), key=lambda at: (-found[at].closed, design.factors[at].setting))
    large = [at for at in order if p[at] < analysis.alpha and found[at].closed >= LEAST_SHARE_OF_GAP * gap]
    suspected = large[:MOST_SUSPECTS]
    shown = tuple(
        Effect(
            setting=design.factors[at].setting,
            change=design.factors[at].change.label,
            target=str(design.factors[at].target),
            closed=closed_effect(found[at].closed, scale),
            unit=scale.unit,
            p_adjusted=p[at],
            is_suspected=at in suspected,
        )
        for at in order
    )
    return shown, [(design.factors[at], found[at].closed) for at in suspected]


def suspect(
    factor: ScreenedFactor,
    closed: float,
    scale: Scale,
    arm: str,
    loads: Mapping[int, int],
    trials: int,
    *,
    is_alike: bool = False,
) -> Suspect:
    """Return a setting as a suspect that closes so much on a scale. `loads` has the loser's loads of the screening by
    number, in ns.

    A setting of the path is no mechanism of an arm: it says where. `is_alike` is as in `Finding`.
    """
    effect = closed_effect(closed, scale)
    words = f"{effect:.1f} %" if scale.is_log else f"{effect:.3g} {scale.unit}"
    shown = Evidence(0, f"in a screening of {trials} trials, {factor.change.label} brings the arms closer by {words}")
    part = min(max(effect, 0.0), 100.0) / 100 if scale.is_log else 0.0  # of a load's time; of differences not known
    signs = {number: Sign(round(load_ns * part), (shown,)) for number, load_ns in loads.items()}
    of_path = factor.role == "path"
    role = "" if of_path else f" of the {factor.role}"
    name = factor.setting.rpartition(".")[2]
    says, touches = (Says.WHERE, Touches.OCCASION) if of_path else (Says.WHY, Touches.MECHANISM)
    cause = searched_cause(factor.setting, f"Setting {name}{role}", factor.sentence, _SOURCE, factor.role, says)
    finding = Finding(factor.setting, arm, factor.role, signs, len(loads), is_alike)
    made = [changes.cure(touches, factor.target, factor.change)]
    if factor.transplant is not None:
        made.append(changes.transplant(touches, factor.transplant))
    return Suspect(FoundBy.SCREENING, finding, cause, [item for item in made if isinstance(item, Intervention)])
