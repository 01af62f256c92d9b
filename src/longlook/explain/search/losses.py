"""The packets that the link dropped of the loser's load, and by delta debugging the fewest that its gap hangs on. Pure.

Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE Transactions on Software Engineering 28
(2002), 183-200, algorithm ddmin (fig. 3): try each of n parts alone, then everything but one part, then finer parts.
The result is 1-minimal: without any one of its elements it has no longer the effect of all. Smaller ones may exist.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from longlook.core import Analysis
from longlook.explain import changes
from longlook.explain.answer import FewestLosses, FoundBy
from longlook.explain.cause import Change, Evidence, Finding, Intervention, Says, Sign, Surgery, Target, Touches
from longlook.explain.facts import LinkFacts
from longlook.explain.judge import Gap
from longlook.explain.pair import Pair, Side
from longlook.explain.search.suspects import Suspect, searched_cause
from longlook.explain.signs import RANDOM_REASONS, drops

AT_ONCE = 4
"""How many subsets are tried at the same time; those behind the first that does it are tried for nothing."""


@dataclass(frozen=True)
class Fewest:
    """The things that are left, in the given order; `tests` is the number of subsets that were tried."""

    items: tuple[int, ...]  # places in what was given
    tests: int
    is_minimal: bool  # false: the tests were spent before it was known


Tries = Generator[list[tuple[int, ...]], list[bool], Fewest]
"""Yields subsets as places, is sent whether each does it, and returns what is left."""


def fewest(count: int, most_tests: int) -> Tries:
    """Find the fewest of `count` things, all of which together do it, with at most `most_tests` tests.

    The same answers give the same tests. No subset is tried twice.
    """
    known: dict[tuple[int, ...], bool] = {}
    current, parts = tuple(range(count)), 2
    while len(current) >= 2:
        pieces = _split(current, parts)
        others = [tuple(place for place in current if place not in set(piece)) for piece in pieces] if parts > 2 else []
        tries, found = [*pieces, *others], None
        for start in range(0, len(tries), AT_ONCE):
            some = tries[start : start + AT_ONCE]
            if batch := [one for one in some if one not in known][: most_tests - len(known)]:
                known.update(zip(batch, (yield batch), strict=True))
            found = next((one for one in some if known.get(one)), None)
            if found is not None:
                break
            if any(one not in known for one in some):
                return Fewest(current, len(known), is_minimal=False)
        if found is not None:
            parts = 2 if found in pieces else max(parts - 1, 2)
            current = found
        elif parts < len(current):
            parts = min(2 * parts, len(current))
        else:
            break
    return Fewest(current, len(known), is_minimal=True)


def _split(items: Sequence[int], parts: int) -> list[tuple[int, ...]]:
    """Return a number of parts of a sequence, in order, none of which has two elements more than another."""
    edges = [len(items) * number // parts for number in range(parts + 1)]
    return [tuple(items[first:last]) for first, last in pairwise(edges)]


CAUSE = "losses"
LEAST_SHARE = 0.2
"""A round whose gap all losses forgiven close by less does not hang on losses; nor does one with a gap of less than
this share of the mean gap."""

ENOUGH = 0.8
"""The share of what all losses forgiven close that the fewest must close."""

MOST_TESTS = 24
"""The trials that a round may take beyond the one in which all its losses are forgiven."""

LEAST_TESTS = 4
"""With fewer trials for a round not even a quarter of its losses could be singled out."""

SHOWN = 10
"""As many packets as a reader looks at; the others are counted."""


@dataclass(frozen=True)
class Lost:
    """A packet of the load that the link dropped."""

    direction: str  # up or down
    number: int  # the link's, in the direction
    what: str  # number, what it carried, and why it was dropped, in words
    time_ns: int  # since the load began

    @property
    def text(self) -> str:
        """Return what the packet was, and when it was lost."""
        return f"{self.what} at {self.time_ns / 1e6:.1f} ms"


def lost_packets(side: Side) -> list[Lost]:
    """Return the packets of a load that the link dropped, in either direction, in order of time."""
    found = [packet for link in (side.down, side.up) for packet in _dropped(side, link)]
    return sorted(found, key=lambda packet: (packet.time_ns, packet.direction, packet.number))


def _dropped(side: Side, link: LinkFacts) -> list[Lost]:
    places = np.flatnonzero(drops(side, link) & ~link.copy).tolist()
    return [
        Lost(
            link.direction,
            int(link.sequence[place]),
            _said(link, place),
            int(link.arrival_ns[place]) - side.start_ns,
        )
        for place in places
    ]


def _said(link: LinkFacts, place: int) -> str:
    """Return what a dropped packet was: its number, direction, what it carried, and why it was dropped."""
    if link.handshake[place]:
        carried = "of the handshake"
    elif link.early[place]:
        carried = "of early data"
    elif link.carries_data[place]:
        carried = f"with {int(link.payload_bytes[place])} bytes of data"
    else:
        carried = "with no data"
    to = "client" if link.direction == "down" else "server"
    reason = link.reasons[link.reason[place]]
    why = "at random" if reason in RANDOM_REASONS else f"by the {reason}"
    return f"packet {int(link.sequence[place])} to the {to}, {carried}, dropped {why}"


def forgiving(label: str, chosen: Mapping[int, Sequence[Lost]]) -> Change:
    """Return the change that spares some packets in each round."""
    return Change(label, surgery={number: _surgery(packets) for number, packets in chosen.items() if packets})


def _surgery(packets: Sequence[Lost]) -> Surgery:
    by_direction = {
        way: ", ".join(str(number) for number in sorted(one.number for one in packets if one.direction == way))
        for way in ("up", "down")
    }
    return Surgery(**{way: f"forgive {listed}" for way, listed in by_direction.items() if listed})


def closing(space: Gap, arms: Mapping[str, str], analysis: Analysis) -> dict[int, tuple[float, float]]:
    """Return by round its gap and the part that arms close in the place of the cell's arms."""
    rounds, parts = space.parts(arms, analysis)
    return dict(zip(rounds, zip(parts.gap.tolist(), parts.closed.tolist(), strict=True), strict=True))


def hanging(all_forgiven: Mapping[int, tuple[float, float]]) -> dict[int, float]:
    """Return the rounds whose gap hangs on losses, with what the fewest must close; none if the whole gap does not.

    `all_forgiven` has each round's gap, and what closes of it if all losses are forgiven.
    """
    if not all_forgiven:
        return {}
    gap, closed = (sum(both[part] for both in all_forgiven.values()) / len(all_forgiven) for part in (0, 1))
    if gap <= 0 or closed < LEAST_SHARE * gap:
        return {}
    return {
        number: ENOUGH * part
        for number, (whole, part) in all_forgiven.items()
        if whole >= LEAST_SHARE * gap and part >= LEAST_SHARE * whole
    }


def shown(packets: Sequence[Lost]) -> tuple[str, ...]:
    """Return packets in words, those beyond SHOWN counted."""
    texts = [packet.text for packet in packets[:SHOWN]]
    more = len(packets) - len(texts)
    return (*texts, f"and {more} more") if more else tuple(texts)


def suspect(
    found: Mapping[int, FewestLosses], chosen: Mapping[int, Sequence[Lost]], pairs: Mapping[int, Pair]
) -> Suspect:
    """Return the losses that gaps hang on as a suspect: that they were forgiven, in all rounds, confirms or refutes."""
    first = next(iter(pairs.values())).loser.trial
    signs = {}
    for number, packets in chosen.items():
        load_ns = pairs[number].loser.load_ns - pairs[number].winner.load_ns
        saved_ns = max(0, int(load_ns * found[number].closed_share_pct / 100))
        evidence = tuple(Evidence(packet.time_ns, f"{packet.what} (round {number + 1})") for packet in packets[:SHOWN])
        signs[number] = Sign(saved_ns, evidence, dose=float(len(packets)))
    dropped = sorted(one.dropped for one in found.values())[(len(found) - 1) // 2]
    cause = searched_cause(
        CAUSE,
        "Few losses",
        f"at {{dose:.0f}} of the packets that it loses (about {dropped} a load)",
        "delta debugging; Zeller and Hildebrandt, IEEE TSE 2002",
        "path",
        Says.WHERE,
    )
    finding = Finding(CAUSE, first.arm, "path", signs, len(pairs))
    cure = changes.cure(Touches.OCCASION, Target.LOSER, forgiving("these losses forgiven", chosen))
    return Suspect(FoundBy.LOSSES, finding, cause, [cure] if isinstance(cure, Intervention) else [])
