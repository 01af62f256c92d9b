"""Rates of rounds and bands over rounds."""

import numpy as np
import pytest

from longlook.report.flows.rates import MOST_POINTS, Rates, arm_flows, thinned
from longlook.report.flows.section import make_flow_section
from tests.data.flows import competing_content
from tests.data.report import with_tables

TWO = {"tcp": {"subject": 1, "tcp": 1}, "quic": {"subject": 1, "tcp": 1}}
FIVE = {"tcp": {"subject": 1, "tcp": 4}, "quic": {"quic": 2, "tcp": 2, "cross": 1}}


def test_bands_are_quartiles_over_the_rounds_of_a_groups_mean() -> None:
    content = competing_content(FIVE, rounds=9)
    (cell, *_) = make_flow_section(content).cells
    flows = arm_flows(content)[cell.cell_id][0]
    band = next(band for band in flows.bands() if band.group == "tcp")
    table = np.array(
        [np.mean([rates.flows[f"tcp-{n}"] for n in (1, 2, 3, 4)], axis=0) for rates in flows.rounds.values()]
    )
    assert band.low.tolist() == pytest.approx(np.quantile(table, 0.25, axis=0).tolist())
    assert band.middle.tolist() == pytest.approx(np.median(table, axis=0).tolist())
    assert band.high.tolist() == pytest.approx(np.quantile(table, 0.75, axis=0).tolist())


def test_bands_end_where_less_than_half_of_the_rounds_last() -> None:
    content = competing_content(TWO, rounds=4, bins=20)
    rates = content.table("rates")
    assert rates is not None
    short = rates[(rates["round"] < 3) | (rates["time_s"] < 3)]
    short = short[(short["round"] != 0) | (short["time_s"] < 5)]  # two rounds of 10 s, one of 5 s, one of 3 s
    flows = next(iter(arm_flows(with_tables(content, rates=short)).values()))[0]
    assert flows.band_bins == 20
    shorter = short[(short["round"] != 1) | (short["time_s"] < 5)]
    assert next(iter(arm_flows(with_tables(content, rates=shorter)).values()))[0].band_bins == 10


def test_wider_bins_keep_the_bytes() -> None:
    values = np.random.default_rng(1).random(241)
    rates = Rates(0.5, {"a": values}, values * 2)
    wide = rates.widened(1.7)
    assert wide.bins == 70
    assert wide.flows["a"].sum() * 1.7 == pytest.approx(
        np.interp(70 * 1.7, np.arange(242) * 0.5, np.append(0, np.cumsum(values) * 0.5))
    )
    assert wide.link is not None
    assert wide.link.tolist() == pytest.approx((wide.flows["a"] * 2).tolist())
    assert thinned(rates).bins <= MOST_POINTS
    assert thinned(rates).bin_s == 1.5
    assert rates.widened(0.1) is rates
