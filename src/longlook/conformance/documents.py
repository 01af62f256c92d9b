"""The generated blocks of docs/stacks.md, made of the catalogue and of what the cache says was seen.

A block stands between `<!-- NAME: generated -->` and `<!-- NAME: end -->`; everything else in the file is by hand.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from longlook.conformance import Report, tables
from longlook.conformance.matrix import Matrix
from longlook.conformance.saved import root, saved
from longlook.core import codec
from longlook.core.errors import InputError
from longlook.core.run_folder import write_json
from longlook.provision.catalogue import catalogue, selected

_BLOCK = re.compile(r"(<!-- (?P<name>[a-z0-9 ]+): generated -->\n).*?(<!-- (?P=name): end -->)", re.DOTALL)
_NOTHING = "Nothing has been measured yet."


def keep_matrix(matrix: Matrix) -> None:
    """Save it for the next time that documents are made; a larger one is not replaced by a piece of it."""
    known = saved_matrix(matrix.protocol)
    ends, had = {*matrix.servers, *matrix.clients}, {*known.servers, *known.clients} if known else set()
    if not ends < had:
        root().mkdir(parents=True, exist_ok=True)
        write_json(_file(matrix.protocol), codec.encode(matrix))


def saved_matrix(protocol: str) -> Matrix | None:
    """The last matrix of a protocol."""
    try:
        return codec.decode(Matrix, json.loads(_file(protocol).read_text()))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def update(path: Path) -> tuple[str, ...]:
    """Write every block of a document anew; the names of those there were. InputError where there are none."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    names = tuple(match["name"] for match in _BLOCK.finditer(text))
    if unknown := [name for name in names if name not in BLOCKS]:
        raise InputError(f"{path}: no block is called {unknown[0]!r}", f"known: {', '.join(BLOCKS)}")
    if not names:
        raise InputError(f"{path} has no generated blocks", "write <!-- stacks: generated --> and <!-- stacks: end -->")
    made = {name: BLOCKS[name]() or _NOTHING for name in names}
    path.write_text(_BLOCK.sub(lambda match: match[1] + made[match["name"]] + "\n" + match[3], text), encoding="utf-8")
    return names


def _matrix(protocol: str) -> str:
    found = saved_matrix(protocol)
    return "" if found is None else tables.matrix_table(found)


def _reports() -> list[Report]:
    """What was seen of every version that is still declared, in the order of the list."""
    found = {(report.stack, report.version): report for report in saved()}
    return [found[stack.name, version] for stack, version in selected(()) if (stack.name, version) in found]


def _of_reports(table: Callable[[Sequence[Report]], str]) -> str:
    reports = _reports()
    return table(reports) if reports else ""


BLOCKS: Mapping[str, Callable[[], str]] = {
    "stacks": lambda: tables.stacks_table(catalogue()),
    "checks": lambda: _of_reports(tables.checks_table),
    "knobs": lambda: _of_reports(lambda reports: tables.knobs_table(_newest(reports))),
    "proofs": lambda: "\n\n".join(_proofs(report) for report in _newest(_reports())),
    "matrix h3": lambda: _matrix("h3"),
    "matrix h2": lambda: _matrix("h2"),
}
"""Text of each block by its name; empty where nothing has been measured."""


def _newest(reports: Sequence[Report]) -> list[Report]:
    """One report for each stack that has knobs: of its newest version that was checked."""
    by_stack = {report.stack: report for report in reports if any(result.knob for result in report.results)}
    return [by_stack[name] for name in sorted(by_stack)]


def _proofs(report: Report) -> str:
    return f"### {report.stack} {report.version}\n{tables.proofs_table(report)}"


def _file(protocol: str) -> Path:
    return root() / f"matrix-{protocol}.json"
