"""The law of random losses of a link, as far as it can be integrated: which packets are lost, by number.

A law that depends on a packet's number alone is a hidden Markov chain. The channel has a state, each state loses a
packet with its own probability, and the state makes a step with each packet. Independent losses have one state, the
channel of Gilbert (1960) and Elliott (1963) two, and bursts of L packets L + 1. `crates/link-core/src/stages` has the
same laws for packets that pass.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from longlook.core import Link, Stage, trace_of
from longlook.network.surgery import KIND, with_surgery

UP, DOWN = "up", "down"
DROPPING_AT_RANDOM = ("loss", "gilbert_elliott", "burst_loss")
"""The kinds of stages that drop packets at random; a stage's kind is the reason of its drops."""

_BY_SEED = frozenset({"corrupt", "duplicate", "jitter", "reorder", "red"})
"""Kinds of stages that draw numbers and are not integrated: what they do is averaged over rounds."""
_BEFORE = frozenset({"access", "block", "police", "cutoff", "size_filter", "mtu"})
"""Kinds of stages that may drop a packet, or draw, before a loss with a memory counts it."""
_LONGEST_BURST = 64


@dataclass(frozen=True)
class LossLaw:
    """Losses of one direction. `start[s]` is the probability that the first packet meets state s, `lost[s]` that a
    packet is lost in it, and `step[s][t]` that state t follows.
    """

    start: tuple[float, ...]
    lost: tuple[float, ...]
    step: tuple[tuple[float, ...], ...]


NO_LOSS = LossLaw((1.0,), (0.0,), ((1.0,),))


@dataclass(frozen=True)
class LossLaws:
    """The laws of both directions of a link, and whether anything else on it is random."""

    up: LossLaw
    down: LossLaw
    also_random: bool


def drops_at_random(link: Link) -> bool:
    """Return whether packets are dropped at random on a link, apart from its queues; corrupted ones are not."""
    return any(stage.kind in DROPPING_AT_RANDOM for stage in (*link.up, *link.down))


def loss_laws(link: Link) -> LossLaws | str:
    """Return the laws of a link's random losses, or in words why they cannot be integrated."""
    laws: dict[str, LossLaw] = {}
    also_random = False
    for direction, stages in ((UP, link.up), (DOWN, link.down)):
        found = [stage for stage in stages if stage.kind in DROPPING_AT_RANDOM]
        if len(found) > 1:
            return "a direction has two laws of loss"
        if any(stage.kind == KIND for stage in stages):
            return "the study operates on single packets itself"
        also_random |= any(stage.kind in _BY_SEED for stage in stages)
        if not found:
            laws[direction] = NO_LOSS
            continue
        law = _law(found[0])
        if isinstance(law, str):
            return law
        if len(law.lost) > 1 and any(stage.kind in _BEFORE for stage in stages):
            return "losses with a memory stand behind a stage that may drop packets itself"
        laws[direction] = law
    if laws[UP] == NO_LOSS and laws[DOWN] == NO_LOSS:
        return "no packet is lost at random"
    return LossLaws(laws[UP], laws[DOWN], also_random)


def _law(stage: Stage) -> LossLaw | str:
    given = stage.parameters
    probability = given.get("probability", 0.0)
    if isinstance(probability, Mapping) or trace_of(probability) is not None:
        return "the probability of loss depends on time"
    if stage.kind == "loss":
        return LossLaw((1.0,), (float(probability),), ((1.0,),))
    if stage.kind == "gilbert_elliott":
        to_bad, to_good = float(given["good_to_bad"]), float(given["bad_to_good"])
        bad = to_bad / (to_bad + to_good)
        lost = float(given.get("loss_good", 0.0)), float(given.get("loss_bad", 1.0))
        return LossLaw((1 - bad, bad), lost, ((1 - to_bad, to_bad), (to_good, 1 - to_good)))
    packets = int(given["packets"])
    if packets > _LONGEST_BURST:
        return f"bursts have more than {_LONGEST_BURST} packets"
    return _burst(float(probability), packets)


def _burst(begins: float, packets: int) -> LossLaw:
    """Return the law of bursts: state 0 is outside of a burst, state k its packet k, and the last leads outside or to
    the next burst's first.
    """
    outside = (1 - begins, begins, *[0.0] * (packets - 1))
    inside = [tuple(float(state == here + 1) for state in range(packets + 1)) for here in range(1, packets)]
    return LossLaw(outside, (0.0, *[1.0] * packets), (outside, *inside, outside))


def with_losses(link: Link, up: str, down: str) -> Link:
    """Return a link that loses the packets which texts of surgery name (`drop 3, 7`, `off`) in place of random ones."""
    calm = Link(
        up=tuple(stage for stage in link.up if stage.kind not in DROPPING_AT_RANDOM),
        down=tuple(stage for stage in link.down if stage.kind not in DROPPING_AT_RANDOM),
    )
    return with_surgery(calm, up, down)


def dropped(link: Link) -> dict[str, tuple[tuple[int, int], ...]]:
    """Return the packets that surgery on a link drops in each direction: ranges of numbers, first and last, in order.

    Directions are `up` and `down`.
    """
    return {direction: _ranges(stages) for direction, stages in ((UP, link.up), (DOWN, link.down))}


def _ranges(stages: tuple[Stage, ...]) -> tuple[tuple[int, int], ...]:
    rows = (row for stage in stages if stage.kind == KIND for row in stage.parameters.get("drop", ()))
    return tuple((int(row[0]), int(row[1])) for row in rows)
