"""A drawing is made once, and again where it is not as it was kept."""

from pathlib import Path

import altair as alt
import pytest

from longlook.core import DerivedCache
from longlook.report.charts import export
from longlook.report.charts.drawn_cache import drawn


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_TRIALS", str(tmp_path / "cache"))


def test_a_drawing_is_made_once_for_what_decides_it() -> None:
    made = []

    def draw() -> dict[str, bytes]:
        made.append(len(made))
        return {"svg": b"%d" % len(made)}

    assert drawn({"a": 1.0}, ["svg"], draw) == drawn({"a": 1.0}, ["svg"], draw) == {"svg": b"1"}
    assert drawn({"a": float("nan")}, ["svg"], draw) == {"svg": b"2"}
    (entry, *_) = DerivedCache.DRAWN.root().glob("??/*/svg")
    entry.write_bytes(b"another")
    assert {drawn({"a": value}, ["svg"], draw)["svg"] for value in (1.0, float("nan"))} < {b"1", b"2", b"3"}
    assert made == [0, 1, 2]


def test_a_figure_from_the_cache_has_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chart = alt.Chart(alt.Data(values=[{"value": 1.0}])).mark_bar().encode(x="value:Q")
    first = [path.read_bytes() for path in export.export_figure(tmp_path / "one", "figure", chart)]
    monkeypatch.delattr(export, "vl_convert")
    again = export.export_figure(tmp_path / "two", "other", chart)
    assert [path.name for path in again] == ["other.svg", "other.png", "other.pdf"]
    assert [path.read_bytes() for path in again] == first
