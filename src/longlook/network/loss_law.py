"""The law of random losses of a link, as far as it can be integrated: which packets are lost, by number.

A corrupted packet is lost, too: one bit behind its IP header is flipped, which changes its checksum, so that the
receiver's kernel discards it unseen. It takes its place in all queues before. A packet that surgery holds for an hour
fares the same.

A law that depends on a packet's number alone is a hidden Markov chain. The channel has a state, each state loses a
packet with its own probability, and the state makes a step with each packet. Independent losses have one state, the
channel of Gilbert (1960) and Elliott (1963) two, and bursts of L packets L + 1. `crates/link-core/src/stages` has the
same laws for packets that pass.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from longlook.core import Link, Stage, trace_of, units
from longlook.network.surgery import KIND, LONGEST_NS, NO_SURGERY, with_surgery

UP, DOWN = "up", "down"
DROPPING_AT_RANDOM = ("loss", "gilbert_elliott", "burst_loss")
"""The kinds of stages that drop packets at random; a stage's kind is the reason of its drops."""

_CORRUPT, _DUPLICATE = "corrupt", "duplicate"
_LOSING = frozenset({*DROPPING_AT_RANDOM, _CORRUPT})

_BY_SEED = frozenset({_DUPLICATE, "jitter", "reorder", "red"})
"""Kinds of stages that draw numbers and are not integrated: what they do is averaged over rounds."""
_BEFORE = frozenset({"access", "block", "police", "cutoff", "size_filter", "mtu"})
"""Kinds of stages that may drop a packet, or draw, before a loss with a memory counts it."""
_LONGEST_BURST = 64


@dataclass(frozen=True)
class LossLaw:
    """Losses of one direction. `start[s]` is the probability that the first packet meets state s, `lost[s]` that a
    packet is lost in it, and `step[s][t]` that state t follows. Lost packets are dropped, or `corrupted`.
    """

    start: tuple[float, ...]
    lost: tuple[float, ...]
    step: tuple[tuple[float, ...], ...]
    corrupted: bool = False


NO_LOSS = LossLaw((1.0,), (0.0,), ((1.0,),))


@dataclass(frozen=True)
class LossLaws:
    """The laws of both directions of a link, and whether anything else on the path is random."""

    up: LossLaw
    down: LossLaw
    also_random: bool


def loses_at_random(link: Link) -> bool:
    """Return whether packets are lost at random on a link, apart from its queues: dropped, or corrupted."""
    return any(stage.kind in _LOSING for stage in (*link.up, *link.down))


def loss_laws(link: Link, behind: Link | None = None) -> LossLaws | str:
    """Return the laws of a link's random losses, or in words why they cannot be integrated.

    `behind` is the link on the other side of a middle. Its losses have no law here, so that it may have none.
    """
    if behind is not None and loses_at_random(behind):
        return "two links lose packets"
    up, down = _law_of(link.up), _law_of(link.down)
    if isinstance(up, str):
        return up
    if isinstance(down, str):
        return down
    if up == NO_LOSS and down == NO_LOSS:
        return "no packet is lost at random"
    beside = () if behind is None else (*behind.up, *behind.down)
    also_random = any(stage.kind in _BY_SEED for stage in (*link.up, *link.down, *beside))
    return LossLaws(up, down, also_random)


def _law_of(stages: Sequence[Stage]) -> LossLaw | str:
    """Return the law of a direction's random losses, or why they cannot be integrated."""
    found = [stage for stage in stages if stage.kind in _LOSING]
    if len(found) > 1:
        corrupts = any(stage.kind == _CORRUPT for stage in found)
        return "a direction loses packets and corrupts others" if corrupts else "a direction has two laws of loss"
    if any(stage.kind == KIND for stage in stages):
        return "the study operates on single packets itself"
    if not found:
        return NO_LOSS
    if found[0].kind == _CORRUPT and any(stage.kind == _DUPLICATE for stage in stages):
        return "packets are copied before they are corrupted"
    law = _law(found[0])
    if not isinstance(law, str) and len(law.lost) > 1 and any(stage.kind in _BEFORE for stage in stages):
        return "losses with a memory stand behind a stage that may drop packets itself"
    return law


def _law(stage: Stage) -> LossLaw | str:
    given = stage.parameters
    probability = given.get("probability", 0.0)
    if isinstance(probability, Mapping) or trace_of(probability) is not None:
        return "the probability of loss depends on time"
    if given.get("above_bytes"):
        return "the probability of loss depends on packets' sizes"
    if stage.kind in ("loss", _CORRUPT):
        return LossLaw((1.0,), (float(probability),), ((1.0,),), corrupted=stage.kind == _CORRUPT)
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


def loss_texts(link: Link, up: Iterable[int], down: Iterable[int]) -> tuple[str, str]:
    """Return the texts of surgery by which packets of these numbers are lost in each direction, as the link loses them.

    A dropped packet is dropped (`drop 3, 7`). A packet that the link corrupts is held for an hour (`hold 3, 7 3600s`):
    it takes its place in all queues, and no end sees it before the load is over. `off`: no packet is lost.
    """
    return _loss_text(link.up, up), _loss_text(link.down, down)


def _loss_text(stages: Sequence[Stage], numbers: Iterable[int]) -> str:
    listed = ", ".join(map(str, sorted(numbers)))
    if not listed:
        return NO_SURGERY
    corrupts = any(stage.kind == _CORRUPT for stage in stages)
    return f"hold {listed} {units.print_time(LONGEST_NS)}" if corrupts else f"drop {listed}"


def with_losses(link: Link, up: str, down: str) -> Link:
    """Return a link that loses the packets which texts of surgery name (`loss_texts`) in place of random ones."""
    calm = Link(
        up=tuple(stage for stage in link.up if stage.kind not in _LOSING),
        down=tuple(stage for stage in link.down if stage.kind not in _LOSING),
    )
    return with_surgery(calm, up, down)


def dropped(link: Link) -> dict[str, tuple[tuple[int, int], ...]]:
    """Return the packets that no end sees because of surgery on a link: ranges of numbers, first and last, in order.

    These packets are dropped, or held for the longest possible time. Directions are `up` and `down`.
    """
    return {direction: _ranges(stages) for direction, stages in ((UP, link.up), (DOWN, link.down))}


def _ranges(stages: tuple[Stage, ...]) -> tuple[tuple[int, int], ...]:
    given = [stage.parameters for stage in stages if stage.kind == KIND]
    rows = [row for parameters in given for row in parameters.get("drop", ())]
    rows += [row for parameters in given for row in parameters.get("hold", ()) if row[2] == LONGEST_NS]
    return tuple((int(row[0]), int(row[1])) for row in rows)
