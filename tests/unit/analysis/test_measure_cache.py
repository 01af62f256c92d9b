from dataclasses import replace
from pathlib import Path

import pytest

from longlook.analysis import measure_cache
from longlook.analysis.measure_cache import MeasureCache
from longlook.core.digests import file_digest
from longlook.core.model import Run
from longlook.core.run_folder import EVENTS, TIMELINE
from tests.data.trials import RUN, TRIAL

DATA = {"values": {"page_load_time": 0.1 + 2**-56, "handshake_time": None}, "goodput": None}


@pytest.fixture
def cache(tmp_path: Path) -> MeasureCache:
    return MeasureCache(("page_load_time",), tmp_path / "measured")


def trial_folder(place: Path) -> tuple[Path, Run]:
    place.mkdir()
    (place / "link.bin").write_bytes(b"packets")
    (place / TIMELINE).write_bytes(b"a timeline")
    return place, replace(RUN, artefacts={"link.bin": file_digest(place / "link.bin")})


def test_kept_results_come_back_to_the_last_bit_with_the_timeline(cache: MeasureCache, tmp_path: Path) -> None:
    folder, run = trial_folder(tmp_path / "one")
    key = cache.key(folder, TRIAL, run)
    assert cache.fetch(key, folder) is None
    cache.keep(key, folder, DATA)
    (folder / TIMELINE).unlink()
    assert cache.fetch(key, folder) == DATA
    assert (folder / TIMELINE).read_bytes() == b"a timeline"


def test_what_determines_the_results_makes_the_key(
    cache: MeasureCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, run = trial_folder(tmp_path / "one")
    key = cache.key(folder, TRIAL, run)
    others = [
        cache.key(folder, replace(TRIAL, round=7), run),
        cache.key(folder, TRIAL, replace(run, started_unix_ns=1)),
        MeasureCache(("throughput",), tmp_path).key(folder, TRIAL, run),
    ]
    monkeypatch.setattr(measure_cache, "code_of_measurements", lambda: "other code")
    others.append(cache.key(folder, TRIAL, run))
    assert len({key, *others}) == 5


def test_tables_that_were_edited_or_forged_are_those_of_the_measurement_again(
    cache: MeasureCache, tmp_path: Path
) -> None:
    folder, run = trial_folder(tmp_path / "one")
    key = cache.key(folder, TRIAL, run)
    cache.keep(key, folder, DATA)
    (folder / TIMELINE).write_bytes(b"another timeline")
    (folder / EVENTS).write_bytes(b"events of nothing")
    assert cache.fetch(key, folder) == DATA
    assert (folder / TIMELINE).read_bytes() == b"a timeline"
    assert not (folder / EVENTS).exists()


@pytest.mark.parametrize("damaged", ["entry.json", TIMELINE])
def test_a_damaged_entry_is_none(cache: MeasureCache, tmp_path: Path, damaged: str) -> None:
    folder, run = trial_folder(tmp_path / "one")
    key = cache.key(folder, TRIAL, run)
    cache.keep(key, folder, DATA)
    (entry,) = (tmp_path / "measured").glob(f"??/*/{damaged}")
    entry.unlink()
    entry.write_bytes(b"{")
    assert cache.fetch(key, folder) is None
    cache.keep(key, folder, DATA)
    assert cache.fetch(key, folder) == DATA
