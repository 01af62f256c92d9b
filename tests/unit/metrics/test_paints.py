"""When pages are shown, on timelines written by hand."""

import pytest

from longlook.metrics import find_metric
from longlook.timeline.timeline import Timeline, table_of_rows


def measured(metric: str, **times_ms: int) -> float | None:
    common = {"vantage": "client", "priming": False, "name": "/index.html"}
    rows = [{"time_ns": at_ms * 10**6, "kind": kind, **common} for kind, at_ms in times_ms.items()]
    return find_metric(metric).measure(Timeline(table_of_rows(sorted(rows, key=lambda row: row["time_ns"]))))


@pytest.mark.parametrize("metric", ["first_contentful_paint", "largest_contentful_paint"])
def test_a_paint_counts_from_the_start_of_the_navigation(metric: str) -> None:
    assert measured(metric, page_started=100, **{metric: 350}) == pytest.approx(0.25)


def test_a_page_that_shows_nothing_has_no_paint() -> None:
    assert measured("first_contentful_paint", page_started=100, page_loaded=300) is None
    assert measured("largest_contentful_paint", page_started=100, first_contentful_paint=300) is None
