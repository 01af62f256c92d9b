"""Results in a document that were not measured again stay there."""

from dataclasses import replace
from pathlib import Path

import pytest

from longlook.instruments.conformance import documents, tables
from longlook.instruments.conformance.checks import CheckResult, CheckStatus, Report
from longlook.instruments.conformance.matrix import Matrix, MatrixCell
from longlook.instruments.conformance.saved import save

DECLARED = {"alpha": ["1", "2"], "beta": ["1"]}
LONG = "a failure that takes many words to describe, " * 8


def report(stack: str, version: str, status: CheckStatus = CheckStatus.PASSED, seen: str = "seen now") -> Report:
    results = (CheckResult("knob ecn", status, seen, "ecn", "server"),)
    return Report(stack, version, "0" * 64, "virtual", 1, results)


def table(*names: str) -> str:
    reports = [report(*name.split("@"), seen="seen before") for name in names]
    return tables.markdown(tables.checks_rows(reports))


def test_a_table_with_rows_that_are_too_long_is_read_back_as_it_was() -> None:
    rows = [["stack", "note"], ["a@1", LONG.strip()], ["b@2", "short \\| cell"], ["c@3", f"x: {LONG}".strip()]]
    text = tables.markdown(rows)
    assert max(map(len, text.splitlines())) <= 200
    assert tables.parsed(text) == rows
    assert tables.markdown(tables.parsed(text)) == text
    assert tables.parsed("Nothing has been measured yet.\n") == []


def test_a_head_of_many_versions_keeps_the_names_of_stacks_and_is_read_back_as_it_was() -> None:
    rows = [["knob", *(f"stack{number} 1.{number}.0" for number in range(15))], ["`ecn`", *["✓"] * 15]]
    text = tables.markdown(rows)
    assert max(map(len, text.splitlines())) <= 200
    assert "stack14 |" in text.splitlines()[0] and "stack14 1.14.0" in text
    assert tables.parsed(text) == rows
    assert tables.markdown(tables.parsed(text)) == text


def test_versions_that_were_not_checked_again_keep_their_rows() -> None:
    old = table("alpha@1", "alpha@2", "beta@1")
    failed = report("alpha", "2", CheckStatus.FAILED, LONG)
    merged = documents.merged_checks(old, [failed], DECLARED)
    rows = {row[0]: row for row in tables.parsed(merged.text)[1:]}
    assert list(rows) == ["alpha@1", "alpha@2", "beta@1"]
    assert rows["alpha@2"][2] == "1"
    assert rows["alpha@1"] == tables.parsed(old)[1]
    assert merged.kept == ("alpha@1", "beta@1")
    assert documents.merged_checks(merged.text, [failed], DECLARED).text == merged.text


def test_versions_that_are_no_longer_declared_go_and_stacks_that_are_unknown_here_stay() -> None:
    merged = documents.merged_checks(table("alpha@0", "plug-in@7", "beta@1"), [report("alpha", "1")], DECLARED)
    assert [row[0] for row in tables.parsed(merged.text)[1:]] == ["alpha@1", "beta@1", "plug-in@7"]


def test_without_any_result_there_is_no_table() -> None:
    assert documents.merged_checks("Nothing has been measured yet.", [], DECLARED).text == ""
    assert documents.merged_knobs("", [], DECLARED).text == ""
    assert documents.merged_proofs("", [], DECLARED).text == ""
    assert documents.merged_matrix("", None).text == ""
    assert documents.merged_handshakes("", None).text == ""


def test_columns_of_knobs_are_kept_and_the_newest_version_of_a_stack_counts() -> None:
    old = "| knob | alpha 2 | gone 1 | beta 1 |\n| --- | --- | --- | --- |\n| `ecn` | ✗ | ✓ |  |\n| `gso` |  |  | ✓ |"
    merged = documents.merged_knobs(old, [report("alpha", "1"), report("beta", "1")], DECLARED)
    assert tables.parsed(merged.text) == [["knob", "alpha 2", "beta 1", "gone 1"], ["`ecn`", "✗", "✓", "✓"]]
    assert merged.kept == ("alpha 2", "gone 1")
    renewed = documents.merged_knobs(old, [report("alpha", "2")], DECLARED)
    assert renewed.kept == ("beta 1", "gone 1")
    assert tables.parsed(renewed.text)[1] == ["`ecn`", "✓", "", "✓"]


def test_sections_of_proofs_are_kept() -> None:
    old = "### alpha 1\nold alpha\n\n### beta 1\nold beta\n"
    merged = documents.merged_proofs(old, [report("alpha", "2")], DECLARED)
    assert merged.kept == ("beta 1",)
    assert merged.text.startswith("### alpha 2\n| knob ")
    assert merged.text.endswith("### beta 1\nold beta")


def test_a_matrix_of_fewer_stacks_does_not_replace_a_larger_one() -> None:
    pairs = tuple(
        MatrixCell(server, client, shared=True, reason=None) for server in ("a@1", "b@1") for client in ("a@1",)
    )
    whole = Matrix("h3", "virtual", 1, ("a@1", "b@1"), ("a@1",), pairs)
    part = replace(whole, servers=("a@1",), pairs=pairs[:1])
    old = tables.matrix_table(whole)
    assert documents.merged_matrix(old, part) == documents.Merged(old, ("a@1", "b@1"))
    newer = replace(whole, servers=("a@1", "b@2"), pairs=(pairs[0], replace(pairs[1], server="b@2", reason="no")))
    assert documents.merged_matrix(old, newer) == documents.Merged(tables.matrix_table(newer))


def test_handshakes_of_an_older_document_stay_where_none_were_measured() -> None:
    pair = MatrixCell("a@1", "a@1", shared=True, reason=None)
    unmeasured = Matrix("h3", "virtual", 1, ("a@1",), ("a@1",), (pair,))
    measured = replace(unmeasured, pairs=(replace(pair, handshake_round_trips=2.02),))
    old = tables.handshake_table(measured)
    assert "| a@1 | 2 RTT |" in old
    assert documents.merged_handshakes(old, unmeasured) == documents.Merged(old.strip(), ("a@1",))
    assert documents.merged_handshakes("", measured) == documents.Merged(old)


def test_a_document_keeps_the_results_of_other_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))
    page = tmp_path / "stacks.md"
    page.write_text(f"<!-- checks: generated -->\n{table('quic-go@0.65.0', 'traffic@1.0')}\n<!-- checks: end -->\n")
    save(report("traffic", "1.0"))
    assert documents.update(page) == [documents.Block("checks", ("quic-go@0.65.0",))]
    assert "| quic-go@0.65.0 | 1 | 0 | 0 |  |" in page.read_text()
    once = page.read_text()
    documents.update(page)
    assert page.read_text() == once
