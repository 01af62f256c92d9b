"""Everything that is estimated from samples, and a cache of it: the same samples are not tested again.

An estimate depends on the samples, the study and the code alone, so it is kept by the digest of these, as measurements
are (`measure_cache`).
"""

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from longlook.analysis.measure_cache import code_of_measurements
from longlook.analysis.stats import arm_levels, estimate
from longlook.analysis.stats.heterogeneity import Heterogeneity, heterogeneity
from longlook.analysis.stats.population import population_levels
from longlook.analysis.stats.tails import RoundsWon, TailEffect, rounds_won, tail_effects
from longlook.core import ArmLevel, ContentStore, DerivedCache, Estimate, Study, code_digest, codec, files

_DATA = "statistics.json"
_LIBRARIES = ("numpy", "pandas", "scipy", "statsmodels")


@dataclass(frozen=True)
class Statistics:
    """The estimates from the samples of a run.

    `levels` serve to judge claims; `drawn_levels` belong to the metrics that a report draws by arm.
    """

    estimates: tuple[Estimate, ...]
    wins: tuple[RoundsWon, ...]
    tails: tuple[TailEffect, ...]
    heterogeneity: tuple[Heterogeneity, ...]
    levels: tuple[ArmLevel, ...]
    drawn_levels: tuple[ArmLevel, ...]


def statistics_of(samples: pd.DataFrame, file: Path, study: Study, drawn: Sequence[str]) -> Statistics:
    """Return the statistics of samples, from the cache or else computed, which is then kept.

    `file` is `samples.parquet` as these samples were just written; `drawn` are the metrics of `drawn_levels`.
    """
    store, key = ContentStore(DerivedCache.STATISTICS.root()), _key(file, study, drawn)
    found = store.read(key, lambda folder: codec.decode(Statistics, files.read_json(folder / _DATA)))
    if found is not None:
        return found
    made = Statistics(
        estimates=tuple(estimate(samples, study)),
        wins=tuple(rounds_won(samples, study)),
        tails=tuple(tail_effects(samples, study)),
        heterogeneity=tuple(heterogeneity(samples, study)),
        levels=(*arm_levels(samples, study), *population_levels(samples, study)),
        drawn_levels=tuple(arm_levels(samples, study, drawn)),
    )
    text = json.dumps(codec.encode(made))
    with suppress(OSError), TemporaryDirectory() as empty:  # where it cannot be kept, it is computed again next time
        store.keep(key, Path(empty), (), {_DATA: text})
    return codec.decode(Statistics, json.loads(text))  # as the next run will read it, to the type of each number


def _key(file: Path, study: Study, drawn: Sequence[str]) -> str:
    made_of = [
        code_of_measurements(),
        code_digest("longlook.analysis.statistics_cache", "longlook.analysis.stats"),
        [version(name) for name in _LIBRARIES],
        sys.version,
        files.digest(file),
        codec.encode(replace(study, expectations=())),  # which no statistic reads
        list(drawn),
    ]
    return codec.content_hash(made_of, 64)
