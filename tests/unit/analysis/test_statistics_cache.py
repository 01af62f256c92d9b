"""Statistics come from the cache where samples, study and code are the same, and are then the same to the last bit."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from longlook.analysis import statistics_cache
from longlook.analysis.statistics_cache import Statistics, statistics_of
from longlook.core import DerivedCache
from longlook.core.model import Study
from tests.data.samples import rows, study

TCP, QUIC = [1.0, 1.1, 1.3, 1.02, 1.07, 1.2, None], [0.7, 0.8, 0.9, 0.75, 0.71, 0.83, 0.8]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_TRIALS", str(tmp_path / "cache"))


def found(place: Path, samples: pd.DataFrame, of: Study) -> Statistics:
    file = place / "samples.parquet"
    samples.to_parquet(file, index=False)
    return statistics_of(samples, file, of, ["page_load_time"])


def never(*_: object) -> list[object]:
    raise AssertionError("computed again")


def test_the_same_samples_are_not_tested_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples, of = rows(TCP, QUIC), study()
    first = found(tmp_path, samples, of)
    assert first.estimates[0].n_pairs == 6 and len(first.levels) == len(first.drawn_levels) == 2
    for name in ("estimate", "rounds_won", "tail_effects", "arm_levels"):
        monkeypatch.setattr(statistics_cache, name, never)
    assert repr(found(tmp_path, samples, of)) == repr(first)
    with pytest.raises(AssertionError, match="computed again"):
        found(tmp_path, rows(TCP, [*QUIC[:-1], 0.81]), of)
    with pytest.raises(AssertionError, match="computed again"):
        found(tmp_path, samples, replace(of, analysis=replace(of.analysis, alpha=0.02)))


def test_a_damaged_entry_is_computed_again(tmp_path: Path) -> None:
    samples, of = rows(TCP, QUIC), study()
    first = found(tmp_path, samples, of)
    (entry,) = DerivedCache.STATISTICS.root().glob("??/*/statistics.json")
    entry.write_text("{}")
    assert found(tmp_path, samples, of) == first
    assert entry.read_text() != "{}"
