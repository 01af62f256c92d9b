"""The load of a trial as the ledger sees it: its span, its packets in both directions, its phases. Pure."""

from dataclasses import dataclass

from longlook.core.model import Trial, Vantage
from longlook.explain.facts.columns import Booleans, Integers, between
from longlook.explain.facts.link import LinkFacts
from longlook.explain.facts.objects import ObjectFacts
from longlook.explain.facts.opening import OpeningFacts
from longlook.explain.facts.sender import SenderFacts
from longlook.explain.ledger.fallback import Fallback, find_fallback
from longlook.timeline.timeline import Timeline


@dataclass(frozen=True)
class Load:
    """All that the rules of the ledger read of one trial. `data` is the direction of most payload."""

    start_ns: int
    end_ns: int
    connecting_ns: int  # the first connection began to open
    connected_ns: int  # the client could send its first request
    fallback: Fallback | None
    data: LinkFacts
    back: LinkFacts
    objects: ObjectFacts
    senders: tuple[SenderFacts, ...]  # of the end that sends the data
    client: tuple[SenderFacts, ...]
    live: bool
    paced_kernel: bool  # the trial's TCP is paced by its queueing discipline
    trial: Trial

    @classmethod
    def of(cls, timeline: Timeline, trial: Trial, *, live: bool) -> "Load | None":
        """Return the load of a trial, or None if it did not begin or end, or the link saw none of its packets."""
        span = timeline.load_window_ns()
        data, back = (LinkFacts.of(timeline, trial, direction) for direction in ("down", "up"))
        if span is None or span[1] <= span[0] or not data.ours.any():
            return None
        opening = OpeningFacts.of(timeline, trial)
        return cls(
            start_ns=span[0],
            end_ns=span[1],
            connecting_ns=span[0] if opening is None else opening.started_ns,
            connected_ns=span[0] if opening is None else opening.ready_ns,
            fallback=find_fallback(timeline, trial, span[0], data, back),
            data=data,
            back=back,
            objects=ObjectFacts.of(timeline, trial),
            senders=SenderFacts.all_of(timeline, Vantage.SERVER),
            client=SenderFacts.all_of(timeline, Vantage.CLIENT),
            live=live,
            paced_kernel=bool(trial.tcp.get("pacing", False)),
            trial=trial,
        )

    def active(self, times_ns: Integers) -> Booleans:
        """Return at which times an answer has begun to leave its sender and not passed the bottleneck."""
        return between(times_ns, self.objects.answered_ns, self.objects.served_ns)
