"""Writes matrices as a page in the report's style: one HTML file that opens from disk."""

import time
from collections.abc import Sequence
from pathlib import Path

from longlook.instruments.conformance.matrix import NOTHING_SHARED, WORKS, Matrix, key_of
from longlook.report import asset, template

PAGE = "index.html"
_CLASSES = {WORKS: "works", NOTHING_SHARED: "apart"}


def write_page(matrices: Sequence[Matrix], out: Path) -> Path:
    """Write `index.html` into a folder and return its path."""
    page = template("instruments/conformance/page.html.j2").render(
        matrices=[(matrix, _rows(matrix), _legend(matrix)) for matrix in matrices],
        facts=facts(matrices),
        css=asset("assets/report.css"),
    )
    out.mkdir(parents=True, exist_ok=True)
    path = out / PAGE
    path.write_text(page, encoding="utf-8")
    return path


def facts(matrices: Sequence[Matrix]) -> str:
    """Return a sentence on how many of the pairs that share a protocol work."""
    pairs = [pair for matrix in matrices for pair in matrix.pairs if pair.shared]
    works = sum(pair.reason is None for pair in pairs)
    day = time.strftime("%Y-%m-%d", time.gmtime(max(matrix.made_unix_s for matrix in matrices)))
    return f"{day}: {works} of {len(pairs)} pairs that share a protocol work."


def _rows(matrix: Matrix) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Return for each server its squares: mark, CSS class and tooltip for each client."""
    rows = []
    for server in matrix.servers:
        squares = []
        for client in matrix.clients:
            mark = matrix.mark(server, client)
            tip = f"server {server}, client {client}; handshake: {matrix.handshake(server, client)}"
            squares.append((mark, _CLASSES.get(mark, "fails"), tip))
        rows.append((server, squares))
    return rows


def _legend(matrix: Matrix) -> list[tuple[str, str]]:
    return [(key_of(number), reason) for number, reason in enumerate(matrix.reasons)]
