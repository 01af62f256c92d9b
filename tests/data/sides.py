"""Both arms of a round as detectors see them: packets and logs of a `Scene`, and a ledger written by hand."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from longlook.core.model import Endpoint, Trial
from longlook.explain.cause import Cause, Finding
from longlook.explain.ledger import Ledger, LedgerClass
from longlook.explain.ledger.table import ledger_table
from longlook.explain.pair import Pair, Side
from tests.data.scenes import Scene, ns

ENDPOINT = Endpoint("quic-go", "0.65.0")
"""A version that there is, so that interventions find its knobs."""

Stretch = tuple[LedgerClass, float] | tuple[LedgerClass, float, str]
"""A class, how many ms it lasts, and its detail if it has one."""

USEFUL = LedgerClass.LINK_USEFUL


def ledger(stretches: Sequence[Stretch], start_ms: float = 0.0) -> Ledger:
    """Return a ledger of these stretches, one after the other."""
    names = [str(name) for name in LedgerClass]
    texts: list[str | None] = [None, *dict.fromkeys(str(each[2]) for each in stretches if len(each) > 2)]
    edges = np.cumsum([ns(start_ms), *(ns(each[1]) for each in stretches)])
    classes = np.array([names.index(str(each[0])) for each in stretches])
    details = np.array([texts.index(str(each[2])) if len(each) > 2 else 0 for each in stretches])
    return Ledger(ledger_table(edges, classes, details, names, texts))


def side(scene: Scene | None = None, *stretches: Stretch, trial: Trial | None = None) -> Side:
    """Return an arm with the packets and logs of a scene and a ledger of these stretches, else a busy one."""
    made = fetching() if scene is None else scene
    own = ledger(stretches or [(USEFUL, 100.0)])
    real = replace(made.trial, server=ENDPOINT, client=ENDPOINT)
    return Side(real if trial is None else trial, made.timeline(), own)


def pair(loser: Side, winner: Side | None = None) -> Pair:
    """Return both arms of a round; the winner by default with nothing but a busy link."""
    return Pair(loser, side() if winner is None else winner)


def found_by(cause: Cause, tested: Pair) -> Finding:
    """Return what a cause finds in a single round; it must find something."""
    sign = cause.detect(tested)
    assert sign is not None
    return Finding(cause.name, tested.loser.trial.arm, cause.role, {0: sign}, 1)


def dropped_for(scene: Scene, at_ms: float, reason: str, **columns: Any) -> None:
    """Add a packet that the link drops for a reason."""
    scene.drop(at_ms, **columns)
    scene.rows[-1]["name"] = reason


def fetching(packets: int = 10, **settings: Any) -> Scene:
    """Return a scene in which a request is answered by packets back to back from 20 ms on, at 10 Mbit/s."""
    scene = Scene(**settings)
    scene.up(0.0)
    arrived = [scene.down(20.0 + number) for number in range(packets)]
    scene.fetched(0.0, arrived[0], arrived[-1])
    return scene
