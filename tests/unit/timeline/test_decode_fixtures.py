"""Real traces of every producer: what they hold is kept in counts.json, and tests/fixtures/qlogs/README.md shows it."""

import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from longlook.timeline.decode import Account, decode_trace
from tests.data.decoded import FIXTURES, NETLOGS, QLOGS, rows

COUNTS: dict[str, dict[str, Any]] = json.loads((FIXTURES / "counts.json").read_text())
PAGE = FIXTURES / "qlogs" / "README.md"
FILES = sorted([*QLOGS.glob("*.gz"), *NETLOGS.glob("*.gz")])
SEEN = ("container", "schema", "producer", "vantage", "read", "ignored", "skipped", "truncated", "unordered")


@cache
def decoded(path: Path) -> tuple[pa.Table, Account]:
    return decode_trace(path, "server")


def counted(path: Path) -> dict[str, Any]:
    """What counts.json keeps of a fixture."""
    table, account = decoded(path)
    kinds = Counter(table.column("kind").to_pylist())
    return {**{key: account[key] for key in SEEN}, "kinds": dict(sorted(kinds.items()))}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_event_is_where_it_was(path: Path) -> None:
    assert counted(path) == COUNTS[path.name]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_rows_are_sound(path: Path) -> None:
    table, _ = decoded(path)
    times = table.column("time_ns").to_numpy()
    assert (times[1:] >= times[:-1]).all()
    sent, acked = (
        rows(table, "packet_sent", "space", "packet_number"),
        rows(table, "packet_acked", "space", "packet_number"),
    )
    assert len(acked) == len(set(acked))
    assert set(acked) <= set(sent)
    assert (
        pc.max(table.column("ssthresh_bytes")).as_py() is None or pc.max(table.column("ssthresh_bytes")).as_py() < 2**40
    )
    lost = rows(table, "packet_lost", "packet_number", "size_bytes")
    assert all(size for number, size in lost if number is not None)
    srtt_ns = pc.max(table.column("srtt_ns")).as_py()
    assert srtt_ns is None or 100_000 < srtt_ns < 1_000_000_000


def test_the_tables_of_the_page_are_these() -> None:
    shown = [line for line in PAGE.read_text().splitlines() if line.startswith("| `") and ".gz`" in line]
    files = [line_of([f"`{name}`", *account_of(name)]) for name in sorted(COUNTS)]
    rows_by_kind = [line_of([f"`{name}`", *kinds_of(name)]) for name in sorted(COUNTS)]
    assert shown == files + rows_by_kind


SHOWN = (
    "packet_sent",
    "packet_received",
    "packet_acked",
    "packet_lost",
    "metrics",
    "congestion_state",
    "loss_timer",
    "pto",
    "blocked",
    "stream_data",
)


def line_of(cells: Sequence[object]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def account_of(name: str) -> list[object]:
    counts = COUNTS[name]
    events = (counts["read"], sum(counts["ignored"].values()), sum(counts["skipped"].values()))
    return [counts["producer"] or "–", counts["container"], counts["schema"] or "–", *events]


def kinds_of(name: str) -> list[int]:
    kinds = COUNTS[name]["kinds"]
    shown = [kinds.get(kind, 0) for kind in SHOWN]
    return [*shown, sum(kinds.values()) - sum(shown)]


def test_netlog() -> None:
    table, account = decode_trace(NETLOGS / "chromium-156.json.gz", "server")
    assert account["format"] == "netlog"
    assert account["vantage"] == "client"
    assert account["producer"].startswith("Chromium 156")
    assert rows(table, "milestone", "name") == [
        "started",
        "complete",
        "confirmed",
        "key_update",
        "closed",
    ]
    assert set(table.column("flow").to_pylist()) - {None} == {"udp 127.0.0.1:48863 127.0.0.1:14433"}
    assert account["connections"][0]["server"] == "127.0.0.1:14433"
    assert json.loads(rows(table, "parameters", "detail")[0])
