"""Which sizes an echo got an answer to, on lines written by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from longlook.metrics import find_metric
from longlook.timeline.normalise.endpoint import read_endpoints
from longlook.timeline.timeline import Timeline, table_of_rows

METRICS = ("answered", "usable_payload", "echo_gaps", "first_answer_time")


def line(payload_bytes: int, answer_ms: int | None, tries: int = 1, refused: str | None = None) -> dict[str, Any]:
    start_ns = payload_bytes * 10**9
    return {
        "event": "echo",
        "payload_bytes": payload_bytes,
        "tries": tries,
        "t_start_ns": start_ns,
        "t_answer_ns": None if answer_ms is None else start_ns + answer_ms * 10**6,
        "t_end_ns": start_ns + 3 * 10**9,
        "refused": refused,
    }


def timeline(folder: Path, *lines: dict[str, Any]) -> Timeline:
    (folder / "client.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    found = read_endpoints(folder)
    assert found.accounts["client.jsonl"].read == len(lines), found.accounts["client.jsonl"]
    return Timeline(table_of_rows(sorted(found.rows, key=lambda row: int(row["time_ns"]))))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # The second of four sizes needs a second try; the third is silent, the fourth refused.
        (
            (line(1200, 40), line(1300, 1040, 2), line(1400, None, 3), line(1500, None, 1, "Message too long")),
            (50.0, 1300.0, 0.0, 0.54),
        ),
        ((line(1200, 40), line(1300, None, 3), line(1400, 60), line(1500, 80)), (75.0, 1200.0, 2.0, 0.06)),
        ((line(1200, None, 3), line(1300, None, 3)), (0.0, None, 0.0, None)),
        ((line(1200, 40),), (100.0, 1200.0, 0.0, 0.04)),
        ((), (None, None, None, None)),
    ],
)
def test_the_metrics_of_a_sweep(
    tmp_path: Path, lines: tuple[dict[str, Any], ...], expected: tuple[float | None, ...]
) -> None:
    found = [find_metric(name).measure(timeline(tmp_path, *lines)) for name in METRICS]
    assert found == [None if value is None else pytest.approx(value) for value in expected]


def test_a_refused_size_says_so_in_the_timeline(tmp_path: Path) -> None:
    table = timeline(tmp_path, line(1500, None, 1, "Message too long")).table
    (row,) = (row for row in table.to_pylist() if row["kind"] == "echo_unanswered")
    assert (row["size_bytes"], row["detail"], row["value"]) == (1500, "Message too long", 1.0)


def test_a_line_without_an_end_is_counted_as_unreadable(tmp_path: Path) -> None:
    broken = {**line(1200, None), "t_end_ns": None}
    (tmp_path / "client.jsonl").write_text(json.dumps(broken) + "\n")
    found = read_endpoints(tmp_path)
    assert found.rows == []
    assert dict(found.accounts["client.jsonl"].skipped) == {"echo: neither t_answer_ns nor t_end_ns": 1}
