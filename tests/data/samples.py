"""Studies and samples made up for tests of the statistics."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from longlook.core.model import Analysis, Arm, Capture, Claim, Contrast, Factor, Figure, Level, Study


def study(
    cells: Sequence[str] = ("a",), metric: str = "page_load_time", claims: Sequence[Claim] = (), **analysis: Any
) -> Study:
    return Study(
        id="made-up",
        title="Made up",
        question="Does it work?",
        arms=(Arm("tcp", "TCP", {}), Arm("quic", "QUIC", {})),
        factors=(Factor("rate", tuple(Level(label, {}) for label in cells)),),
        exclude=(),
        settings={},
        rounds=10,
        seed=1,
        timeout_s=10.0,
        retries_when_invalid=1,
        metrics=(metric,),
        contrasts=(Contrast("main", "tcp", "quic", metric),),
        claims=tuple(claims),
        analysis=Analysis(**analysis),
        capture=Capture(),
        figure=Figure("rate", ()),
    )


def rows(
    tcp: Sequence[float | None],
    quic: Sequence[float | None],
    cell: str = "a",
    metric: str = "page_load_time",
    outcome: str = "failed",
) -> pd.DataFrame:
    """One row per arm and round; None is a trial that ended with `outcome`."""
    return pd.DataFrame(
        [
            row(arm, number, value, "ok" if value is not None else outcome, cell=cell, metric=metric)
            for arm, values in (("tcp", tcp), ("quic", quic))
            for number, value in enumerate(values)
        ]
    )


def row(
    arm: str,
    number: int,
    value: float | None,
    outcome: str = "ok",
    *,
    cell: str = "a",
    metric: str = "page_load_time",
    attempt: int = 1,
) -> Mapping[str, Any]:
    return {
        "study": "made-up",
        "cell": f"id-{cell}",
        "arm": arm,
        "round": number,
        "seed": number,
        "trial_id": f"{arm}-{cell}-{number}",
        "attempt": attempt,
        "metric": metric,
        "value": value,
        "unit": "s",
        "outcome": outcome,
        "reason": None,
        "factor.rate": cell,
    }
