"""Writes the generated blocks of docs/reference/stack-tables.md, from the catalogue and the results in the cache.

A block stands between `<!-- NAME: generated -->` and `<!-- NAME: end -->`; everything else in the file is written by
hand. Results that were not measured again stay (`merge`).
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from longlook.core import InputError, codec, registry, write_json
from longlook.instruments.conformance import merge, tables
from longlook.instruments.conformance.checks import Report
from longlook.instruments.conformance.matrix import Matrix
from longlook.instruments.conformance.saved import root, saved
from longlook.provision import selected, stack_versions

_BLOCK = re.compile(r"(<!-- (?P<name>[a-z0-9 ]+): generated -->\n)(?P<text>.*?)(<!-- (?P=name): end -->)", re.DOTALL)
_NOTHING = "Nothing has been measured yet."


@dataclass(frozen=True)
class Block:
    """A block that was written, and the results in it that were kept because they were not measured again."""

    name: str
    kept: tuple[str, ...]


def save_matrix(matrix: Matrix) -> None:
    """Save a matrix for the documents; one that covers only a part of the saved one does not replace it."""
    known = saved_matrix(matrix.protocol)
    ends, had = {*matrix.servers, *matrix.clients}, {*known.servers, *known.clients} if known else set()
    if not ends < had:
        root().mkdir(parents=True, exist_ok=True)
        write_json(_file(matrix.protocol), codec.encode(matrix))


def saved_matrix(protocol: str) -> Matrix | None:
    """Return the last matrix of a protocol, None if there is none."""
    try:
        return codec.decode(Matrix, json.loads(_file(protocol).read_text()))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def update(path: Path) -> list[Block]:
    """Write every block of a document again and return the blocks; raise InputError if the document has none."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    names = tuple(match["name"] for match in _BLOCK.finditer(text))
    if unknown := [name for name in names if name not in BLOCKS]:
        raise InputError(f"{path}: no block is called {unknown[0]!r}", f"known: {', '.join(BLOCKS)}")
    if not names:
        raise InputError(f"{path} has no generated blocks", "write <!-- stacks: generated --> and <!-- stacks: end -->")
    made = {match["name"]: BLOCKS[match["name"]](match["text"]) for match in _BLOCK.finditer(text)}

    def written(match: re.Match[str]) -> str:
        return f"{match[1]}{made[match['name']].text or _NOTHING}\n{match[4]}"

    path.write_text(_BLOCK.sub(written, text), encoding="utf-8")
    return [Block(name, made[name].kept) for name in names]


def _reports() -> list[Report]:
    """Return the saved reports of every version that is still declared, in the order of the registry."""
    found = {(report.stack, report.version): report for report in saved()}
    return [found[stack.name, version] for stack, version in selected(()) if (stack.name, version) in found]


def _declared() -> merge.Declared:
    declared: dict[str, list[str]] = {}
    for stack, version in selected(()):
        declared.setdefault(stack.name, []).append(version)
    return declared


BLOCKS: Mapping[str, Callable[[str], merge.Merged]] = {
    "stacks": lambda old: merge.stacks(old, stack_versions(), _declared()),
    "tunable": lambda _old: merge.Merged(tables.markdown(tables.tunable_rows(registry.load("stacks").values()))),
    "checks": lambda old: merge.checks(old, _reports(), _declared()),
    "knobs": lambda old: merge.knobs(old, _newest(_reports()), _declared()),
    "proofs": lambda old: merge.proofs(old, _newest(_reports()), _declared()),
    "matrix h3": lambda old: merge.matrix(old, saved_matrix("h3")),
    "handshakes h3": lambda old: merge.handshakes(old, saved_matrix("h3")),
    "matrix h2": lambda old: merge.matrix(old, saved_matrix("h2")),
    "handshakes h2": lambda old: merge.handshakes(old, saved_matrix("h2")),
}
"""The function that makes the new text of each block from its old text."""


def _newest(reports: Sequence[Report]) -> list[Report]:
    """Return one report for each stack that has knobs: the report of its newest version that was checked."""
    by_stack = {report.stack: report for report in reports if any(result.knob for result in report.results)}
    return [by_stack[name] for name in sorted(by_stack)]


def _file(protocol: str) -> Path:
    return root() / f"matrix-{protocol}.json"
