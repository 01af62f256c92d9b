"""A search, if confirmed causes leave a substantial part of a gap: a screening of settings, then for single losses.

The suspects of either are confirmed or refuted by the same trials as any other finding: one change, in all rounds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from longlook.analysis import Scale
from longlook.core import registry
from longlook.explain import (
    LEAST_ROUNDS,
    Fewest,
    FewestLosses,
    LossSearch,
    Lost,
    Pair,
    ScreenedFactor,
    Screening,
    Suspect,
    Tries,
    factors,
    fewest,
    impossible,
    is_needed,
    losses,
    plackett_burman,
    same_end,
    screen,
)
from longlook.pipeline.explain.session import JudgedFindings, Session
from longlook.report import counted
from longlook.study import VIRTUAL


@dataclass(frozen=True)
class Searched:
    """The result of a search, judged together with what detectors had found."""

    judgement: JudgedFindings
    screening: Screening
    losses: LossSearch | None  # None: the costs of losses are known, or what the screening found explains the gap


def search(session: Session, pairs: Mapping[int, Pair], judgement: JudgedFindings) -> Searched:
    """Screen settings and test what they suspect; if that leaves much of the gap, do so with its losses.

    If losses are integrated, what each of them costs is known already.
    """
    screening, settings = screen_settings(session, pairs, judgement)
    if settings:
        judgement = _tested(session, settings)
    if session.place.tape.is_integrated or not is_needed(judgement.findings, judgement.together):
        return Searched(judgement, screening, None)
    found, lost = search_losses(session, pairs)
    if lost is not None:
        judgement = _tested(session, [lost])
    return Searched(judgement, screening, found)


def _tested(session: Session, suspects: Sequence[Suspect]) -> JudgedFindings:
    wanted = [(one.finding, one.interventions) for one in suspects]
    return session.tested(wanted, {one.finding.cause: one.cause for one in suspects}, suspects[0].found_by)


@dataclass
class _Round:
    """One round of the search for losses: the subset that is tried next, as places in `lost`."""

    lost: Sequence[Lost]
    gap: float
    enough: float
    closed: float
    tries: Tries
    found: Fewest
    batch: list[tuple[int, ...]] = field(default_factory=list)
    closed_by: dict[tuple[int, ...], float] = field(default_factory=dict)

    @classmethod
    def begun(cls, lost: Sequence[Lost], gap: float, enough: float, closed: float, most_tests: int) -> "_Round":
        every = tuple(range(len(lost)))
        made = cls(lost, gap, enough, closed, fewest(len(lost), most_tests), Fewest(every, 0, False))
        made.closed_by[every] = closed
        made._go_on(None)
        return made

    def learn(self, closed: Sequence[float]) -> None:
        """Take what each subset of the batch closes, and go on to the next batch."""
        self.closed_by |= dict(zip(self.batch, closed, strict=True))
        self._go_on([value >= self.enough for value in closed])

    def result(self, number: int) -> FewestLosses:
        """Return what is left of the losses of this round, whose number is given."""
        share_pct = 100 * self.closed_by[self.found.items] / self.gap
        text = losses.shown([self.lost[at] for at in self.found.items])
        left = len(self.found.items)
        return FewestLosses(number, len(self.lost), left, text, share_pct, self.found.tests + 1, self.found.is_minimal)

    def _go_on(self, answers: list[bool] | None) -> None:
        try:
            self.batch = next(self.tries) if answers is None else self.tries.send(answers)
        except StopIteration as done:
            self.batch, self.found = [], done.value


def search_losses(session: Session, pairs: Mapping[int, Pair]) -> tuple[LossSearch, Suspect | None]:
    """Forgive all losses of every round, and if that closes its gap, fewer and fewer; return what is left.

    The bound of trials is by round, so that what one round is found to hang on does not depend on others.
    """
    trial = next(iter(pairs.values())).loser.trial
    ends = (trial.server, trial.client)
    if (trial.engine or session.place.options.engine.name) != VIRTUAL or not all(
        registry.stack(end.stack).repeats for end in ends
    ):
        return LossSearch(
            "single losses are looked for where the same trial gives the same packets: virtual time"
        ), None
    lost = {number: found for number, pair in pairs.items() if (found := losses.lost_packets(pair.loser))}
    if not lost:
        where = "link towards the client" if trial.has_middle else "link"
        return LossSearch(f"the {where} drops no packet of the loser's loads"), None
    before = len(session.counterfactual)
    plan = session.begun()
    every = plan.add({plan.loser: losses.forgiving("all its losses forgiven", lost)})
    if isinstance(every, str):
        return LossSearch(f"its losses cannot be forgiven: {every}"), None
    most_tests = losses.MOST_TESTS
    if session.left is not None:
        most_tests = min(most_tests, session.left // len(lost) - 1)
    if most_tests < losses.LEAST_TESTS:
        least = (1 + losses.LEAST_TESTS) * len(lost)
        reason = (
            f"single losses of {counted(len(lost), 'round')} take {least} trials or more, and the budget leaves "
            f"{session.left}"
        )
        return LossSearch(reason), None
    session.place.observer.say(f"forgiving the losses of {counted(len(lost), 'round')}")
    closing = losses.closing(session.run(plan), every, session.study.analysis)
    enough = losses.hanging(closing)
    if not enough:
        gap, closed = (sum(both[part] for both in closing.values()) for part in (0, 1))
        reason = f"all losses forgiven close {100 * closed / gap if gap else 0.0:.0f} % of the gap"
        return LossSearch(reason, len(session.counterfactual) - before), None
    rounds = {
        number: _Round.begun(lost[number], closing[number][0], enough[number], closing[number][1], most_tests)
        for number in enough
        if number in lost
    }
    while any(one.batch for one in rounds.values()):
        _step(session, {number: one for number, one in rounds.items() if one.batch})
    chosen = {number: [one.lost[at] for at in one.found.items] for number, one in rounds.items()}
    results = {number: one.result(number) for number, one in rounds.items()}
    trials = len(session.counterfactual) - before
    return LossSearch("", trials, tuple(results.values())), losses.suspect(results, chosen, pairs)


def _step(session: Session, rounds: Mapping[int, _Round]) -> None:
    """Run the next batch of every round; an arm has one subset of each round, as surgery is by round."""
    plan = session.begun()
    made = []
    for place in range(max(len(one.batch) for one in rounds.values())):
        subsets = {
            number: [one.lost[at] for at in one.batch[place]]
            for number, one in rounds.items()
            if place < len(one.batch)
        }
        arms = plan.add({plan.loser: losses.forgiving("some losses forgiven", subsets)})
        made.append({} if isinstance(arms, str) else arms)
    space = session.run(plan)
    closing = [losses.closing(space, arms, session.study.analysis) for arms in made]
    for number, one in rounds.items():
        one.learn([closing[place].get(number, (0.0, 0.0))[1] for place in range(len(one.batch))])


def screen_settings(
    session: Session, pairs: Mapping[int, Pair], judgement: JudgedFindings
) -> tuple[Screening, list[Suspect]]:
    """Run a screening of what can be varied, as far as the budget goes; return its effects and what it suspects.

    Settings that change no packet or make trials fail are left out first, and the others are screened without them. It
    stops after two rounds if these show that not even a setting that closes the whole gap would be found.
    """
    loads = {number: _loads(session, number, pairs) for number in session.place.gap.rounds}
    rounds = [number for number, own in loads.items() if own][: screen.ROUNDS]
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
        runs, cost = len(design.arms), session.cost(plan, rounds, brief=True)
        if session.left is not None and cost > session.left:
            reason = (
                f"a screening of {counted(len(chosen), 'setting')} takes {cost} trials ({runs} combinations in "
                f"{len(rounds)} rounds), and the budget leaves {session.left}"
            )
            return Screening(reason, left_out=tuple(left_out)), []
        session.place.observer.say(f"screening {counted(len(chosen), 'setting')} in {runs} combinations")
        first_gaps, _ = screen.gaps(
            session.run(plan, rounds[:1], brief=True), design, rounds[:1], session.study.analysis
        )
        failing = screen.failing(design, first_gaps)
        if not failing:
            break
        left_out += [f"{chosen[at].setting}: trials with {chosen[at].change.label} fail" for at in failing]
        chosen = [factor for at, factor in enumerate(chosen) if at not in failing]
    enough = rounds[:LEAST_ROUNDS]
    observed, scale = screen.gaps(session.run(plan, enough, brief=True), design, enough, session.study.analysis)
    if screen.is_too_weak(design, observed, len(rounds), session.study.analysis, scale):
        reason = (
            f"in {counted(len(enough), 'round')} the gap varies so much that a screening of "
            f"{counted(len(chosen), 'setting')} would not find even one that closes all of it"
        )
        return Screening(reason, trials=len(session.counterfactual) - before, left_out=tuple(left_out)), []
    observed, scale = screen.gaps(session.run(plan, rounds, brief=True), design, rounds, session.study.analysis)
    trials = len(session.counterfactual) - before
    made = Screening("", runs, len(rounds), trials, (), tuple(left_out))
    concluded = screen.concluded(design, observed, session.study.analysis, scale)
    if concluded is None:
        return replace(made, reason="too many of its trials fail to tell the settings apart"), []
    effects, suspected = concluded
    return replace(made, effects=effects), [
        _suspect(factor, closed, scale, pairs, [at for number in rounds for at in loads[number]], trials)
        for factor, closed in suspected
    ]


def _loads(session: Session, number: int, pairs: Mapping[int, Pair]) -> list[int]:
    """Return the traced loads of a round."""
    return [at for at in session.place.tape.in_round(number) if at in pairs]


def _able(session: Session, chosen: Sequence[ScreenedFactor], number: int) -> tuple[list[ScreenedFactor], list[str]]:
    """Return the settings that can act here, tried alone in one round, and why the others are left out.

    In real time no trial repeats another packet for packet, and all are kept; so they are if the budget is too short
    for that and the smallest design.
    """
    plan = session.begun()
    arms = screen.alone(plan, chosen)
    cost = session.cost(plan, [number], brief=True) + LEAST_ROUNDS * len(plackett_burman(1))
    if not session.is_virtual or (session.left is not None and cost > session.left):
        return list(chosen), []
    idle = screen.idle(session.run(plan, [number], brief=True), chosen, arms, number)
    return [factor for at, factor in enumerate(chosen) if at not in idle], list(idle.values())


def _suspect(
    factor: ScreenedFactor,
    closed: float,
    scale: Scale,
    pairs: Mapping[int, Pair],
    numbers: Sequence[int],
    trials: int,
) -> Suspect:
    loads = {number: pairs[number].loser.load_ns for number in numbers}
    first = next(iter(pairs.values()))
    same = same_end(first, factor.role)
    return screen.suspect(factor, closed, scale, first.loser.trial.arm, loads, trials, is_alike=same)
