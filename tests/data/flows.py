"""Contents of reports on flows that compete, for tests: made-up rates of any number of flows, arms, rounds and bins."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from longlook.analysis.stats import arm_levels, metrics_by_arm
from longlook.core.model import Arm, Contrast, Factor, Figure, Level, Study
from longlook.report.content import ReportContent
from tests.data.report import small_content, small_study

LINK_MBPS = 5.0
BIN_S = 0.5

Groups = Mapping[str, int]
"""Group → how many flows, the subject first; a name that begins with `cross` is cross traffic."""


def competing_study(columns: Sequence[str] = ("1", "4"), rows: Sequence[str] = ("30KB",), **changes: Any) -> Study:
    """QUIC and TCP against some TCP flows, at some queues."""
    study = small_study(
        arms=(Arm("tcp", "TCP", {}), Arm("quic", "QUIC", {})),
        factors=(
            Factor("queue", tuple(Level(label, {"network.queue": label}) for label in rows)),
            Factor("against", tuple(Level(label, {}) for label in columns)),
        ),
        settings={"network.rate": "5Mbit", "network.rtt": "36ms"},
        metrics=("share_of_used",),
        contrasts=(Contrast("quic vs tcp", "tcp", "quic", "share_of_used"),),
        figure=Figure("against", ("queue",)),
    )
    return replace(study, **changes)


def competing_content(
    arms: Mapping[str, Groups],
    study: Study | None = None,
    *,
    rounds: int = 3,
    bins: int = 20,
    subject_weight: float = 1.5,
    link_mbps: float | None = LINK_MBPS,
) -> ReportContent:
    """A report on arms with these groups, the same in every cell; the subject's flows get more than their part."""
    study = study or competing_study()
    study = replace(study, rounds=rounds)
    flows: list[pd.DataFrame] = []
    rates: list[pd.DataFrame] = []
    values: dict[tuple[str, ...], dict[str, list[float | None]]] = {}
    for queue in study.factors[0].levels:
        for against in study.factors[1].levels:
            cell_id = "-".join(("id", queue.label, against.label))
            for arm, groups in arms.items():
                for number in range(rounds):
                    trial = {"trial_id": f"{cell_id}{arm}{number}", "arm": arm, "cell_id": cell_id, "round": number}
                    table, series = _trial(groups, bins, subject_weight, link_mbps, len(flows))
                    flows.append(table.assign(**trial))
                    rates.append(series.assign(**trial))
                    share = table[table["group"] == next(iter(groups))]["share_pct"].sum()
                    values.setdefault((queue.label, against.label), {}).setdefault(arm, []).append(float(share))
    content = small_content(values, study)
    return replace(
        content,
        tables={"flows": pd.concat(flows, ignore_index=True), "rates": pd.concat(rates, ignore_index=True)},
        levels=arm_levels(content.samples, study, metrics_by_arm(study)),
    )


def _trial(
    groups: Groups, bins: int, subject_weight: float, link_mbps: float | None, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    random = np.random.default_rng(seed)
    subject = next(iter(groups))
    names = {
        group: [group] if count == 1 else [f"{group}-{number + 1}" for number in range(count)]
        for group, count in groups.items()
    }
    all_flows = [(flow, group) for group, members in names.items() for flow in members]
    weights = np.array([subject_weight if group == subject else 1.0 for _, group in all_flows])
    wanted = weights[:, None] * np.exp(random.normal(0, 0.2, (len(all_flows), bins)))
    mbps = LINK_MBPS * wanted / wanted.sum(axis=0)
    crossing = [group.startswith("cross") for _, group in all_flows]
    total = mbps.mean(axis=1)[[not each for each in crossing]].sum()
    table = pd.DataFrame(
        [
            {
                "flow": flow, "group": group, "cross": cross, "began_s": 0.1, "ended_s": 0.1 + bins * BIN_S,
                "rate_mbps": own.mean(), "goodput_mbps": own.mean() * 0.97,
                "share_pct": None if cross else 100 * own.mean() / total, "loss_pct": 1.0,
            }
            for (flow, group), cross, own in zip(all_flows, crossing, mbps, strict=True)
        ]
    )  # fmt: skip
    times_s = (np.arange(bins) * BIN_S).round(6)
    series = [
        pd.DataFrame({"flow": flow, "group": group, "time_s": times_s, "mbps": own.round(6), "link_mbps": link_mbps})
        for (flow, group), own in zip(all_flows, mbps, strict=True)
    ]
    return table, pd.concat(series, ignore_index=True)
