"""A number or a sentence counts once, whatever number of claims repeat it."""

from dataclasses import replace

import pytest

from longlook.core.model import ClaimKind, ExpectedLevel, Verdict
from longlook.core.results import Agreement, ClaimResult
from longlook.instruments.atlas.claims.counts import (
    MIXED,
    Statement,
    counts_by_kind,
    in_words,
    result_counts,
    statement_counts,
    statements,
)
from longlook.study.files import find_study
from tests.unit.analysis.claims.test_judge import CLAIM, NONE, SENTENCE

LEVEL = replace(CLAIM, contrast="", effect_pct=None, expected=ExpectedLevel("quic", "jain_index", at_least=0.9))


@pytest.mark.parametrize(
    ("cells", "result"),
    [
        ([Agreement.OPEN, Agreement.OPEN], Agreement.OPEN),
        ([Agreement.SAME_SIZE, Agreement.OTHER_SIZE], Agreement.OTHER_SIZE),
        ([Agreement.OTHER_SIZE, Agreement.SAME_DIRECTION], Agreement.OTHER_SIZE),
        ([Agreement.SAME_SIZE, Agreement.SAME_SIZE], Agreement.SAME_SIZE),
        ([Agreement.SAME_SIZE, Agreement.OPEN], MIXED),
        ([Agreement.SAME_DIRECTION, Agreement.CONTRADICTED], MIXED),
        ([Agreement.NO_DIFFERENCE, Agreement.CONTRADICTED, Agreement.OPEN], MIXED),
        ([Agreement.WITHIN_BOUNDS, Agreement.NOT_TESTABLE, Agreement.NOT_RUN], Agreement.WITHIN_BOUNDS),
        ([Agreement.NOT_TESTABLE, Agreement.NOT_RUN], Agreement.NOT_RUN),
        ([Agreement.NOT_TESTABLE], Agreement.NOT_TESTABLE),
    ],
)
def test_a_statement_has_the_result_that_its_cells_share(cells: list[Agreement], result: str) -> None:
    counted = {found: cells.count(found) for found in cells}
    assert Statement("a", ClaimKind.NUMBER, counted).result == result


def test_each_cell_of_a_figure_is_a_number_and_a_sentence_is_one() -> None:
    cells = [{"rate": "10"}, {"rate": "50"}, {"rate": "100"}]
    claims = [replace(claim, cell=cell) for claim in (CLAIM, NONE, SENTENCE, LEVEL) for cell in cells]
    read_as = [replace(NONE, cell=cell, origin="read as", source="no difference") for cell in cells]
    found = statements([ClaimResult(claim, None, Agreement.OPEN, "") for claim in [*claims, *read_as]])
    kinds = [item.kind for item in found]
    assert kinds.count(ClaimKind.DIRECTION) == kinds.count(ClaimKind.LEVEL) == 1
    assert kinds.count(ClaimKind.NO_DIFFERENCE) == 1  # the figure's white cells have the names of its numbers here
    assert kinds.count(ClaimKind.NUMBER) == 3
    assert sum(sum(item.cells.values()) for item in found) == len(claims) + len(read_as)


def test_counts_by_kind_add_up() -> None:
    results = [
        ClaimResult(replace(CLAIM, cell={"rate": "1"}), None, Agreement.SAME_SIZE, ""),
        ClaimResult(replace(CLAIM, cell={"rate": "2"}), None, Agreement.OTHER_SIZE, ""),
        ClaimResult(replace(CLAIM, cell={"rate": "3"}, counts_as="twice"), None, Agreement.OTHER_SIZE, ""),
        ClaimResult(replace(CLAIM, cell={"rate": "4"}, counts_as="twice"), None, Agreement.OPEN, ""),
        ClaimResult(SENTENCE, None, Agreement.SAME_DIRECTION, ""),
    ]
    by_kind = counts_by_kind(results)
    assert in_words(by_kind["number"]) == "1 same size, 1 other size, 1 mixed"
    assert in_words(by_kind["direction"]) == "1 same direction" and in_words(by_kind["level"]) == "none"
    assert in_words(result_counts(results)) == "1 same size, 2 other size, 1 same direction, 1 open"
    total = statement_counts(results)
    assert total == {name: sum(counts[name] for counts in by_kind.values()) for name in total}
    assert sum(total.values()) == 4


def test_what_shipped_studies_repeat_counts_once() -> None:
    """The figure's own cells give their names to the studies that repeat them."""
    names = {
        study: [claim.statement for claim in find_study(study).claims]
        for study in ("demo", "kakhki2017-fig6a", "kakhki2017-large-objects", "kakhki2017-fig12")
    }
    assert set(names["demo"]) < set(names["kakhki2017-fig6a"]) and len(set(names["demo"])) == 9
    assert set(names["kakhki2017-large-objects"]) < set(names["kakhki2017-fig6a"])
    assert (len(names["kakhki2017-large-objects"]), len(set(names["kakhki2017-large-objects"]))) == (10, 2)
    chromium = {claim.statement for claim in find_study("kakhki2017-fig12-chromium").claims}
    assert len(chromium) == 28 and chromium < set(names["kakhki2017-fig12"])
    for study, count in (("kakhki2017-grid", 1), ("kakhki2017-fig11-ranges", 1), ("kakhki2017-fig10", 18)):
        assert len({claim.statement for claim in find_study(study).claims}) == count
    sentences = {claim.statement for name in ("fec", "fig13") for claim in find_study(f"langley2017-{name}").claims}
    assert len(sentences) == 1


def test_a_direction_of_each_side_is_another_claim_and_one_sentence() -> None:
    assert replace(SENTENCE, direction=Verdict.WORSE).statement == SENTENCE.statement == CLAIM.source
