"""One round of a cell as detectors see it: the trial, its ledger, and everything seen in it, of both arms. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from longlook.core import Trial, Vantage
from longlook.explain.facts import LinkFacts, SenderFacts
from longlook.explain.ledger import Ledger, LedgerClass
from longlook.timeline import Doubt, Timeline, doubts_of


@dataclass(frozen=True)
class Side:
    """One arm in one round. `timeline` has the events of its traces, if any."""

    trial: Trial
    timeline: Timeline
    ledger: Ledger

    @property
    def start_ns(self) -> int:
        """When the load began, on the trial's clock."""
        return self.ledger.span_ns[0]

    @property
    def load_ns(self) -> int:
        """How long the load took."""
        first, last = self.ledger.span_ns
        return last - first

    @cached_property
    def totals(self) -> dict[LedgerClass, int]:
        """The time in each class of the ledger, in ns."""
        return self.ledger.totals()

    @cached_property
    def down(self) -> LinkFacts:
        """The packets to the client as the link handled them."""
        return LinkFacts.of(self.timeline, self.trial, "down")

    @cached_property
    def down_all(self) -> tuple[LinkFacts, ...]:
        """The packets to the client as each link handled them: the client's link, then one behind a middle."""
        return tuple(LinkFacts.of(self.timeline, self.trial, "down", where) for where in self._wheres)

    @cached_property
    def up(self) -> LinkFacts:
        """The packets to the server as the link handled them."""
        return LinkFacts.of(self.timeline, self.trial, "up")

    @cached_property
    def server(self) -> SenderFacts | None:
        """The log of the server's stack or kernel about its busiest connection; None if it logged nothing.

        Reading a value that is in doubt raises DoubtError.
        """
        return _busiest(SenderFacts.all_of(self.timeline, Vantage.SERVER))

    @cached_property
    def client(self) -> SenderFacts | None:
        """The log of the client's stack or kernel about its busiest connection, as `server` has it."""
        return _busiest(SenderFacts.all_of(self.timeline, Vantage.CLIENT))

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """The contradictions in its traces, which are not counted."""
        return () if self.timeline.events is None else doubts_of(self.timeline.events.metadata)

    @property
    def round_trip_ns(self) -> int:
        """The path's round trip time without queues and without the time to send a packet, over both of two links."""
        ways = [LinkFacts.of(self.timeline, self.trial, way, where) for way in ("down", "up") for where in self._wheres]
        return sum(way.delay_ns for way in ways)

    @property
    def _wheres(self) -> tuple[Vantage, ...]:
        return (Vantage.LINK, Vantage.BEHIND) if self.trial.has_middle else (Vantage.LINK,)


def _busiest(found: tuple[SenderFacts, ...]) -> SenderFacts | None:
    busiest = max(found, key=lambda facts: len(facts.sent.time_ns) + len(facts.acked.time_ns), default=None)
    return None if busiest is None else busiest.asked()


@dataclass(frozen=True)
class Pair:
    """Both arms in one round; the loser is the arm that is worse over all rounds, not in each."""

    loser: Side
    winner: Side

    def excess_ns(self, *classes: LedgerClass) -> int:
        """Return by how much the loser's time in some classes exceeds the winner's, in ns; may be negative."""
        return sum(self.loser.totals.get(name, 0) - self.winner.totals.get(name, 0) for name in classes)

    def excess_detail_ns(self, name: LedgerClass, *details: str) -> int:
        """Return by how much the loser's time in a class with some details exceeds the winner's, in ns."""
        own, others = self.loser.ledger.details(name), self.winner.ledger.details(name)
        return sum(own.get(detail, 0) - others.get(detail, 0) for detail in details)


def equal_conditions(pairs: Mapping[int, Pair]) -> Iterator[str]:
    """Yield sentences about what is equal in all rounds, and about settings in which the arms differ by intention."""
    both = [(pair.loser.trial, pair.winner.trial) for pair in pairs.values()]
    checks = (
        ("link and its seed", all((a.links, a.seed) == (b.links, b.seed) for a, b in both)),
        ("workload", all(a.workload == b.workload for a, b in both)),
        ("draws of the round", all(a.drawn == b.drawn for a, b in both)),
        ("connection state", all(a.connection == b.connection for a, b in both)),
        ("protocol", all(a.protocol == b.protocol for a, b in both)),
        ("client", all(a.client == b.client for a, b in both)),
        ("server", all(a.server == b.server for a, b in both)),
    )
    for name, same in checks:
        yield f"{name}: {'the same in both arms' if same else 'differs between the arms'}"


def implausible(pairs: Mapping[int, Pair], labels: Mapping[str, str], what: str = "round") -> Iterator[str]:
    """Yield a sentence for each arm and each kind of contradiction in its traces, the first one's, and how many more.

    `labels` has the labels of the arms by name; `what` pairs are: rounds, or loads of rounds.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for number, pair in sorted(pairs.items()):
        for side in (pair.loser, pair.winner):
            for doubt in side.doubts:
                key = side.trial.arm, f"{doubt.check} {doubt.vantage}"
                found.setdefault(key, []).append(f"{what} {number + 1}: {doubt.sentence}")
    for (arm, _), sentences in found.items():
        more = f"; and {len(sentences) - 1} more of this kind" if len(sentences) > 1 else ""
        yield f"{labels[arm]}, {sentences[0]}{more}"
