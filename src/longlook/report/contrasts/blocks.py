"""Contrasts of many cells: the report's first page keeps their maps, and pages of their own have the cells, in blocks.

A block is a rectangle of neighbouring rows and columns of the map, with the same section as a small contrast has.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from longlook.report.contrasts.section import ContrastSection
from longlook.report.layout import Grid

FOLDER = "cells"
"""The folder of the pages beside the report's first page."""
MOST_CELLS = 200
"""The cells, of all contrasts together, up to which the first page has all details."""
BLOCK_CELLS = 100


@dataclass(frozen=True)
class Block:
    """A page of cells: its file below the report, and its section."""

    file: str
    section: ContrastSection


def in_blocks(contrasts: Sequence[ContrastSection]) -> tuple[list[ContrastSection], list[Block]]:
    """Return the sections of the first page, and the pages of cells; there are none if the first page has room."""
    if sum(len(each.details) for each in contrasts) <= MOST_CELLS:
        return list(contrasts), []
    firsts: list[ContrastSection] = []
    blocks: list[Block] = []
    for each in contrasts:
        own = [block for block in _blocks(each) if block.section.details]
        page_of = {at: block.file for block in own for at in block.section.details}
        blocks += own
        addressed = {at: replace(detail, page=page_of[at]) for at, detail in each.details.items()}
        firsts.append(replace(each, details=addressed, pages=tuple(block.file for block in own)))
    return firsts, blocks


def _blocks(section: ContrastSection) -> Iterator[Block]:
    for number, grid in enumerate(_rectangles(section.grid), start=1):
        yield Block(
            f"{FOLDER}/{section.anchor}-{number}.html",
            replace(
                section,
                grid=grid,
                squares={at: square for at, square in section.squares.items() if at in grid.places},
                details={at: detail for at, detail in section.details.items() if at in grid.places},
                file_name=f"{section.file_name}-{number}",
                up="../",
            ),
        )


def _rectangles(grid: Grid) -> Iterator[Grid]:
    """Yield the map in rectangles of at most BLOCK_CELLS squares, in reading order."""
    width = min(len(grid.columns), BLOCK_CELLS)
    height = max(1, BLOCK_CELLS // max(1, width))
    for top in range(0, len(grid.rows), height):
        for left in range(0, len(grid.columns), width):
            rows, columns = grid.rows[top : top + height], grid.columns[left : left + width]
            places = {(row, column): grid.places[row, column] for row in rows for column in columns}
            yield replace(grid, rows=rows, columns=columns, places=places, omitted=0)
