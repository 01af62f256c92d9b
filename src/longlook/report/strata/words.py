"""Which losses make an effect, as rows of a table and in one sentence."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from longlook.analysis import MORE, NONE, ONE
from longlook.core import Estimate, Verdict
from longlook.report import wording
from longlook.report.content import ReportContent, records

_NOTHING = 1e-3
"""A cost below this share of the mean without loss counts as nothing."""
_MOST_NAMED = 6
"""Packets that a sentence names, at most."""
_OUTCOMES = {"failed": "failed", "timed_out": "timed out"}


@dataclass(frozen=True)
class StratumRow:
    """A row of the table: the stratum in words, and its numbers."""

    losses: str
    cells: tuple[str, ...]  # share of loads, mean of the baseline, mean of the contender, effect, part of the effect


def share_text(share: float) -> str:
    """Return a probability in percent, with two significant digits: `48 %`, `0.49 %`."""
    return f"{wording.number(100 * share, 2)}{wording.NBSP}%"


def cost_text(cost: float, unit: str) -> str:
    """Return a cost with its sign: `+1.01 s`."""
    return ("+" if cost > 0 else "") + wording.quantity(cost, unit)


def stratum_rows(strata: pd.DataFrame, estimate: Estimate) -> list[StratumRow]:
    """Return a row for each stratum of a contrast in a cell, and one for all loads.

    The parts of the effect sum to the effect: each is the effect times the share of the stratum's contribution.
    """
    rows = records(strata)
    shown = [
        StratumRow(
            _losses(row),
            (
                share_text(row["probability"]),
                wording.quantity(row["baseline_mean"], row["unit"]),
                wording.quantity(row["contender_mean"], row["unit"]),
                wording.effect(row["effect_pct"]),
                _part(row, estimate),
            ),
        )
        for row in rows
    ]
    whole = wording.effect(estimate.effect_pct)
    levels = (wording.quantity(value, estimate.unit) for value in (estimate.baseline_mean, estimate.contender_mean))
    return [*shown, StratumRow("all loads", (share_text(1.0), *levels, whole, whole))]


def _losses(row: Mapping[str, Any]) -> str:
    of = "" if row["is_whole"] else f" of {row['inside']} packets"
    return {NONE: f"none{of}", ONE: f"one{of}", MORE: f"more{of}"}[row["stratum"]]


def note(strata: pd.DataFrame) -> str:
    """Return which packets tell the strata of a cell apart, if these are not all packets of the load."""
    if strata.empty or strata["is_whole"].all():
        return ""
    inside = f"The {strata['inside'].iloc[0]} packets are the first and the last of each direction."
    return f"{inside} All others are lost at random in every stratum."


def _part(row: Mapping[str, Any], estimate: Estimate) -> str:
    if math.isnan(row["share_pct"]) or estimate.effect_pct is None:
        return wording.DASH
    part = estimate.effect_pct * row["share_pct"] / 100
    return f"{part:+.1f}{wording.NBSP}%".replace("-", wording.MINUS)


def found(strata: pd.DataFrame, packets: pd.DataFrame, estimate: Estimate, arms: tuple[str, str]) -> str:
    """Return in one sentence which losses make the effect; shares of it only if the verdict is better or worse.

    The loss that it names is the one whose costs differ most between the arms, weighted with its probability.
    """
    rows = {row["stratum"]: row for row in records(strata)}
    decided = estimate.verdict in (Verdict.BETTER, Verdict.WORSE)
    none = rows.get(NONE)
    parts = []
    if none is not None:
        where = "loads without loss" if none["is_whole"] else f"loads that lose none of {none['inside']} packets"
        chance = share_text(none["probability"])
        parts.append(
            f"{wording.points(none['share_pct'])}{wording.NBSP}% of the effect is from {where} ({chance} of all)"
            if decided
            else f"in {where} ({chance} of all) the effect is {wording.effect(none['effect_pct'])}"
        )
    chosen = _dearest(records(packets), rows)
    if chosen is not None:
        least = _NOTHING * max(abs(none[name]) for name in ("baseline_mean", "contender_mean")) if none else 0.0
        costs = [_cost(chosen[name], chosen["unit"], least) for name in ("baseline_cost", "contender_cost")]
        makes = f", and makes {wording.points(chosen['share_pct'])}{wording.NBSP}%" if decided else ""
        parts.append(
            f"the loss of packet {chosen['direction']} {chosen['number']} alone "
            f"({share_text(chosen['probability'])} of loads) "
            f"costs {arms[0]} {costs[0]} and {arms[1]} {costs[1]}{makes}"
        )
    return wording.capital("; ".join(parts)) + "." if parts else ""


def _dearest(packets: Sequence[Mapping[str, Any]], strata: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the packet whose loss changes the difference of the arms most; None if no loss does."""
    none = strata.get(NONE)
    known = [row for row in packets if math.isfinite(row["contribution"])]
    if none is None or not known:
        return None
    usual = none["contribution"] / none["probability"]
    chosen = max(known, key=lambda row: abs(row["contribution"] - row["probability"] * usual))
    return chosen if chosen["baseline_cost"] or chosen["contender_cost"] else None


def _cost(cost: float, unit: str, least: float) -> str:
    return "nothing" if abs(cost) < least else cost_text(cost, unit)


def failures(content: ReportContent, table: pd.DataFrame, cell_id: str) -> list[str]:
    """Return a sentence for each arm, outcome and stratum in which an arm of a cell failed (`LossEffects.failures`)."""
    sentences = []
    own = table[table["cell_id"] == cell_id]
    for (arm, outcome, stratum), rows in own.groupby(["arm", "outcome", "stratum"], sort=False):
        named = f"{content.short_label(str(arm))} {_OUTCOMES[str(outcome)]}"
        count = int(rows["trials"].sum())
        trials = f"{count} trial{'' if count == 1 else 's'}"
        known = rows[rows["probability"].notna()]
        if stratum == ONE and not known.empty:
            distinct = known.drop_duplicates("lost")
            packets = distinct["lost"].tolist()
            shown = ", ".join(packets[:_MOST_NAMED]) + (" and others" if len(packets) > _MOST_NAMED else "")
            one = "packet" if len(packets) == 1 else f"one of {len(packets)} packets"
            chance = share_text(float(distinct["probability"].sum()))
            sentences.append(
                f"{named} if {one} ({shown}) was lost alone, in {trials}; exactly {chance} of loads are so."
            )
        elif stratum == NONE and not known.empty:
            chance = share_text(float(known["probability"].iloc[0]))
            sentences.append(f"{named} without any loss in {trials}; exactly {chance} of loads are so.")
        else:
            sentences.append(f"{named} in {trials} with losses that have no exact probability.")
    return sentences
