"""Studies and samples made up for tests of the statistics."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from longlook.analysis.stats import estimate
from longlook.core.codec import canonical
from longlook.core.model import Analysis, Arm, Capture, Claim, Contrast, Factor, Figure, Level, Study
from longlook.core.results import Estimate


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


def only(samples: pd.DataFrame, **options: Any) -> Estimate:
    """Return the one estimate of samples; `canonical` refuses NaN and infinity in it."""
    (result,) = estimate(samples, study(**options))
    canonical(result)
    return result


def noisy(mean: float, spread: float = 0.05, count: int = 20, seed: int = 1) -> list[float]:
    """Return log-normal values around a mean."""
    return list(mean * np.exp(np.random.default_rng(seed).normal(0, spread, count)))


def around(samples: pd.DataFrame, settings: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """Return samples whose rounds drew values of settings, the same in every arm."""
    drawn = {f"drawn.{name}": samples["round"].map(dict(enumerate(values))) for name, values in settings.items()}
    return samples.assign(**drawn)


def draws(rounds: int, seed: int = 1, width: float = 0.05) -> dict[str, list[float]]:
    """Return what rounds drew for five settings, uniform around 36 ms, 100 Mbit/s, 450 KB, 100 KB and 50 ms."""
    middles = {
        "network.rtt_ms": 36.0,
        "network.rate_mbit": 100.0,
        "network.queue_bytes": 450e3,
        "workload.object_bytes": 100e3,
    }
    generator = np.random.default_rng([seed, rounds])
    near = {name: list(middle * generator.uniform(1 - width, 1 + width, rounds)) for name, middle in middles.items()}
    return {**near, "start_phase_ms": list(generator.uniform(0, 100, rounds))}


TCP, QUIC = noisy(2.0, seed=1), noisy(1.0, seed=2)
