"""A screening of settings: its trials, in few rounds, and what it suspects."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from longlook.explain.answer import Screening
from longlook.explain.attribution import closed_pct
from longlook.explain.detect import same_end
from longlook.explain.pair import Pair
from longlook.explain.search import screen
from longlook.explain.search.factors import ScreenedFactor, factors, impossible
from longlook.explain.search.screening_design import LEAST_ROUNDS, plackett_burman
from longlook.explain.search.suspects import Suspect
from longlook.pipeline.explain.session import Judgement, Session
from longlook.report.machines.wording import counted


def screen_settings(
    session: Session, pairs: Mapping[int, Pair], judgement: Judgement
) -> tuple[Screening, list[Suspect]]:
    """Run a screening of what can be varied, as far as the budget goes; return its effects and what it suspects.

    Settings that change no packet or make trials fail are left out first, and the others are screened without them. It
    stops after two rounds where these show that not even a setting that closes the whole gap would be found.
    """
    rounds = [number for number in session.place.gap.rounds if number in pairs][: screen.ROUNDS]
    if len(rounds) < LEAST_ROUNDS:
        return Screening(f"a screening takes {LEAST_ROUNDS} rounds, and there is {len(rounds)}"), []
    tested = [test.intervention.change for test in judgement.tests]
    first = next(iter(pairs.values()))
    chosen, refused = screen.admitted(factors(first), tested, session.begun)
    left_out = [*impossible(first), *refused]
    before = len(session.counterfactual)
    chosen, cannot = _able(session, chosen, rounds[0])
    left_out += cannot
    while True:
        if not chosen:
            return Screening("nothing is left that can be varied", left_out=tuple(left_out)), []
        plan = session.begun()
        design = screen.design_of(plan, chosen)
        runs, cost = len(design.arms), session.cost(plan, rounds)
        if session.left is not None and cost > session.left:
            reason = (
                f"a screening of {counted(len(chosen), 'setting')} takes {cost} trials ({runs} combinations in "
                f"{len(rounds)} rounds), and the budget leaves {session.left}"
            )
            return Screening(reason, left_out=tuple(left_out)), []
        session.place.observer.say(f"screening {counted(len(chosen), 'setting')} in {runs} combinations")
        failing = screen.failing(design, screen.gaps(session.run(plan, rounds[:1]), design, rounds[:1])[0])
        if not failing:
            break
        left_out += [f"{chosen[at].setting}: trials with {chosen[at].change.label} fail" for at in failing]
        chosen = [factor for at, factor in enumerate(chosen) if at not in failing]
    enough = rounds[:LEAST_ROUNDS]
    observed, is_log = screen.gaps(session.run(plan, enough), design, enough)
    if screen.is_too_weak(design, observed, len(rounds), session.study.analysis, is_log=is_log):
        reason = (
            f"in {counted(len(enough), 'round')} the gap varies so much that a screening of "
            f"{counted(len(chosen), 'setting')} would not find even one that closes all of it"
        )
        return Screening(reason, trials=len(session.counterfactual) - before, left_out=tuple(left_out)), []
    observed, is_log = screen.gaps(session.run(plan, rounds), design, rounds)
    trials = len(session.counterfactual) - before
    made = Screening("", runs, len(rounds), trials, (), tuple(left_out))
    concluded = screen.concluded(design, observed, session.study.analysis, is_log=is_log)
    if concluded is None:
        return replace(made, reason="too many of its trials fail to tell the settings apart"), []
    effects, suspected = concluded
    return replace(made, effects=effects), [
        _suspect(factor, closed, pairs, rounds, trials, is_log=is_log) for factor, closed in suspected
    ]


def _able(session: Session, chosen: Sequence[ScreenedFactor], number: int) -> tuple[list[ScreenedFactor], list[str]]:
    """Return the settings that can act here, tried alone in one round, and why the others are left out.

    In real time no trial repeats another packet for packet, and all are kept; so they are where the budget is too short
    for that and the smallest design.
    """
    plan = session.begun()
    arms = screen.alone(plan, chosen)
    cost = session.cost(plan, [number]) + LEAST_ROUNDS * len(plackett_burman(1))
    if not session.is_virtual or (session.left is not None and cost > session.left):
        return list(chosen), []
    idle = screen.idle(session.run(plan, [number]), chosen, arms, number)
    return [factor for at, factor in enumerate(chosen) if at not in idle], list(idle.values())


def _suspect(
    factor: ScreenedFactor,
    closed: float,
    pairs: Mapping[int, Pair],
    rounds: Sequence[int],
    trials: int,
    *,
    is_log: bool,
) -> Suspect:
    loads = {number: pairs[number].loser.load_ns for number in rounds}
    arm = next(iter(pairs.values())).loser.trial.arm
    same = same_end(next(iter(pairs.values())), factor.role)
    return screen.suspect(factor, closed_pct(closed, is_log=is_log), arm, loads, trials, is_alike=same)
