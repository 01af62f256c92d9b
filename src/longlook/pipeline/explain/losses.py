"""The search for the losses that a gap hangs on: its trials, all rounds at the same time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from longlook.core import registry
from longlook.explain.answer import FewestLosses, LossSearch
from longlook.explain.pair import Pair
from longlook.explain.search import losses
from longlook.explain.search.losses import Fewest, Lost, Tries, fewest
from longlook.explain.search.suspects import Suspect
from longlook.pipeline.explain.session import Session
from longlook.report.machines.wording import counted
from longlook.study.virtual_time import VIRTUAL


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
    """Forgive all losses of every round, and where that closes its gap, fewer and fewer; return what is left.

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
    closing = losses.closing(session.run(plan), every)
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
    closing = [losses.closing(space, arms) for arms in made]
    for number, one in rounds.items():
        one.learn([closing[place].get(number, (0.0, 0.0))[1] for place in range(len(one.batch))])
