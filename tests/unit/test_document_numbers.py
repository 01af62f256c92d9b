"""Numbers of pages are those of the atlas's entries, each rounded once, with the verdicts beside them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from scripts import bound_numbers

from longlook.core.results import Agreement
from longlook.instruments.atlas.claims.entries import read_entry
from longlook.report.wording import MINUS, effect

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RATES, SIZES = ("10Mbit", "50Mbit", "100Mbit"), ("5KB", "10KB", "100KB", "200KB", "500KB", "1MB", "10MB")
PROXIES = ("17a", "18a")
"""Figures of proxies.md: tables of `published / ours`, with the mark of a claim that is not found with its size."""
MARKS = {Agreement.CONTRADICTED: " ✗", Agreement.OTHER_SIZE: " ≠", Agreement.OPEN: " ?"}


@pytest.mark.parametrize("path", bound_numbers.pages(ROOT), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_numbers_of_pages_are_those_of_their_entries(path: Path) -> None:
    page = bound_numbers.read(path, ROOT)
    assert not page.faults, "\n".join(map(str, page.faults))


def rows(document: str, begins: str, after: str) -> Iterator[list[str]]:
    """Yield the cells of the first table of a document behind a text whose first line begins so."""
    text = (DOCS / document).read_text(encoding="utf-8")
    lines = text.split(after)[1].splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(begins))
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize("figure", PROXIES)
def test_tables_of_proxies_show_the_claims_and_what_was_found(figure: str) -> None:
    found = read_entry(DOCS / "data" / "entries" / f"kakhki2017-fig{figure}.json").claim_results()
    results = {(item.claim.cell["rate"], item.claim.cell["size"]): item for item in found}
    faults = []
    for rate, row in zip(RATES, rows("results/proxies.md", "| rate |", f"(fig. {figure}"), strict=True):
        for size, text in zip(SIZES, row[1:], strict=True):
            item = results.pop((rate, size))
            published, ours = item.claim.effect_pct, item.estimate
            assert ours is not None
            first = "n.s." if published is None or not item.claim.significant else f"{published:+.0f}"
            whole = f"{first} / {effect(ours.effect_pct)[:-2]}{MARKS.get(item.result, '')}".replace("-", MINUS)
            if text != whole:
                faults.append(f"{rate}, {size}: {text!r} should be {whole!r}")
    assert not results and not faults, "\n".join(faults)
