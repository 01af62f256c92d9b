"""The loads of a cell that is explained: if the run integrated its losses, the run's loads with the same losses."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from longlook.analysis import (
    CellStrata,
    Packet,
    by_ratios,
    enough_of_more,
    is_point,
    loss_effects,
    procedures,
    write_packet,
)
from longlook.core import STATED, Analysis, Outcome, RunFolder, find_metric, margin_of
from longlook.explain import IntegratedLosses, LossPart, Pair, SingleLoss, Tape, losses
from longlook.network import dropped, loses_at_random
from longlook.pipeline.explain.cells import CellGap, read_analysed
from longlook.pipeline.result_files import PATTERNS
from longlook.pipeline.strata import read_strata

_TRACED = 12
"""The single losses whose costs part the arms most, which detectors see. Each takes a traced trial of both arms."""
_SHOWN = 5
"""The single losses that an answer names."""


@dataclass(frozen=True)
class CellLoads:
    """The loads of a cell, and which losses make its gap as far as the run knows; nothing of these if it drew losses.

    `singles` are by packet, the largest part of the gap first, without words for the packet.
    """

    tape: Tape
    parts: tuple[LossPart, ...] = ()
    singles: dict[Packet, SingleLoss] = field(default_factory=dict)

    def described(self, pairs: Mapping[int, Pair]) -> IntegratedLosses | None:
        """Return what an answer says of the losses; `pairs` are the traced loads, which say what a packet carried."""
        if not self.tape.is_integrated:
            return None
        singles = [
            replace(single, packet=self._words(packet, pairs) or single.packet)
            for packet, single in list(self.singles.items())[:_SHOWN]
        ]
        return IntegratedLosses(len(pairs), self.parts, tuple(singles))

    def _words(self, packet: Packet, pairs: Mapping[int, Pair]) -> str:
        """Return what a packet carried in the arm that lost, or in the other one; "" if it was not traced."""
        pair = next((pairs[at] for at in self.tape.traced if packet in self.tape.loads[at].lost and at in pairs), None)
        if pair is None:
            return ""
        found = [lost for side in (pair.loser, pair.winner) for lost in losses.lost_packets(side)]
        return next((lost.what for lost in found if (lost.direction, lost.number) == packet), "")


def loads_of(folder: RunFolder, gap: CellGap) -> CellLoads:
    """Return the loads of a cell of a run.

    An explanation has the losses of the run: its arms are then the run's, trial for trial.
    """
    cell_id, arms = gap.estimate.cell_id, (gap.loser, gap.winner)
    trials = [trial for trial in folder.plan.trials if trial.cell_id == cell_id and trial.arm in arms]
    cell = next((each for each in read_strata(folder) if each.cell_id == cell_id), None)
    if cell is None or cell.why_sampled:
        lossy = any(loses_at_random(link) for trial in trials for link in trial.links.values())
        why = "the run draws them at random, too" if cell is None else cell.why_sampled
        return CellLoads(Tape(why if lossy else ""))
    tried: dict[str, list[Packet]] = {arm: [] for arm in arms}
    for trial in trials:
        if trial.round == STATED:
            ranges = [(way, *span) for way, spans in dropped(trial.link).items() for span in spans]
            tried[trial.arm] += [(way, number) for way, first, last in ranges for number in range(first, last + 1)]
    patterns = read_analysed(folder, PATTERNS)
    effects = loss_effects(patterns, [cell], folder.study)
    singles = _singles(_of_gap(effects.packets, gap), gap)
    traced = [packet for packet in singles if any(packet in own for own in tried.values())][:_TRACED]
    round_of_run = next(trial for trial in trials if trial.round != STATED)
    tape = Tape.integrated(
        cell,
        folder.study.seed,
        gap.rounds,
        tried,
        traced,
        is_point=cell.laws is not None and is_point(round_of_run, cell.laws),
        more=_patterns_of_more(cell, patterns, gap, folder.study.analysis),
    )
    parts = _of_gap(effects.strata, gap)[["stratum", "probability", "share_pct"]].itertuples(index=False)
    return CellLoads(tape, tuple(LossPart(str(name), share, part) for name, share, part in parts), singles)


def _patterns_of_more(cell: CellStrata, patterns: pd.DataFrame, gap: CellGap, analysis: Analysis) -> int:
    """Return how many patterns of several losses a round gets.

    With them, patterns that no round drew may part a changed arm from the arm that it replaces by the margin at most,
    if both are nearly one program.
    """
    metric = find_metric(gap.contrast.metric)
    own = patterns[(patterns["cell"] == cell.cell_id) & (patterns["metric"] == metric.name)]
    own = own[own["arm"].isin([gap.loser, gap.winner]) & (own["outcome"] == str(Outcome.OK)) & own["value"].notna()]
    if not by_ratios(metric, own["value"]):
        return 0
    calm = own[(own["round"] == STATED) & (own["lost"] == "")].set_index("arm")["value"]
    dearest = float(np.log(own["value"] / own["arm"].map(calm)).max())
    margin = procedures.margin(margin_of(metric, analysis).size, is_log=True)
    return enough_of_more(cell, dearest, len(gap.rounds), margin, (1 - analysis.confidence) / 2)


def _of_gap(table: pd.DataFrame, gap: CellGap) -> pd.DataFrame:
    return table[(table["contrast"] == gap.contrast.name) & (table["cell_id"] == gap.estimate.cell_id)]


def _singles(table: pd.DataFrame, gap: CellGap) -> dict[Packet, SingleLoss]:
    loses = gap.loser == gap.contrast.baseline
    names = ("baseline_cost", "contender_cost") if loses else ("contender_cost", "baseline_cost")
    found = {}
    for row in table.to_dict("records"):
        costs = [None if pd.isna(row[name]) else float(row[name]) for name in names]
        if costs != [None, None]:
            share = None if pd.isna(row["share_pct"]) else float(row["share_pct"])
            packet = (str(row["direction"]), int(row["number"]))
            found[packet] = SingleLoss(write_packet(packet), float(row["probability"]), costs[0], costs[1], share)
    return dict(sorted(found.items(), key=lambda item: (-_part(item[1]), item[0])))


def _part(single: SingleLoss) -> float:
    return single.probability * abs((single.loser_cost or 0.0) - (single.winner_cost or 0.0))
