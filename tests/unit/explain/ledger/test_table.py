"""The ledger's table: neighbours join, sums are exact, files keep everything; its documentation is the code's."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longlook.core.errors import InputError
from longlook.explain.ledger import CLASSES, LEDGER_SCHEMA, LINK_CLASSES, Ledger, LedgerClass
from longlook.explain.ledger.table import ledger_table
from tests.data.scenes import ledger_of, window_limited

DOCS = Path(__file__).parents[4] / "docs"


def test_the_documented_classes_are_those_of_the_code_in_the_order_in_which_they_are_tried() -> None:
    lines = (DOCS / "reference" / "row-kinds.md").read_text().splitlines()
    rows = [f"| `{name}` | {sentence} |" for name, sentence in CLASSES.items()]
    begin = lines.index(rows[0])
    assert lines[begin : begin + len(rows)] == rows
    assert not lines[begin + len(rows)].startswith("|")
    assert list(CLASSES) == list(LedgerClass)
    assert {name for name in LedgerClass if "link" in name} == LINK_CLASSES


def test_every_column_is_documented() -> None:
    text = (DOCS / "reference" / "ledger.md").read_text()
    assert [name for name in LEDGER_SCHEMA.names if f"`{name}`" not in text] == []


def test_neighbours_of_one_class_and_detail_join_and_empty_intervals_vanish() -> None:
    edges = np.array([0, 10, 10, 15, 20, 30], np.int64)
    classes, details = np.array([0, 1, 0, 0, 1]), np.array([0, 0, 0, 1, 1])
    table = ledger_table(edges, classes, details, ["request", "pacing"], [None, "rule"])
    assert table.schema == LEDGER_SCHEMA
    assert table.to_pylist() == [
        {"start_ns": 0, "end_ns": 15, "class": "request", "detail": None},
        {"start_ns": 15, "end_ns": 20, "class": "request", "detail": "rule"},
        {"start_ns": 20, "end_ns": 30, "class": "pacing", "detail": "rule"},
    ]
    ledger = Ledger(table)
    assert ledger.totals() == {LedgerClass.REQUEST: 20, LedgerClass.PACING: 10}
    assert ledger.details(LedgerClass.REQUEST) == {None: 15, "rule": 5}
    assert ledger.span_ns == (0, 30)


def test_files_keep_rows_and_objects(tmp_path: Path) -> None:
    ledger = ledger_of(window_limited(5, 2))
    ledger.write(tmp_path / "ledger.parquet")
    again = Ledger.read(tmp_path / "ledger.parquet")
    assert again.table.equals(ledger.table)
    assert again.objects == ledger.objects
    assert again.objects[0]["critical"] is True


@pytest.mark.parametrize("content", [b"", b"no Parquet"])
def test_what_is_no_ledger_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ledger.parquet"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"ledger\.parquet: not a ledger of this version"):
        Ledger.read(path)


def test_a_table_of_other_columns_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"start_ns": [1]}), tmp_path / "ledger.parquet")
    with pytest.raises(InputError, match="not a ledger of this version"):
        Ledger.read(tmp_path / "ledger.parquet")
