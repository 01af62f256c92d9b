"""Writes the generated blocks of docs/reference/stack-tables.md, from the catalogue and the results in the cache.

A block stands between `<!-- NAME: generated -->` and `<!-- NAME: end -->`; everything else in the file is written by
hand. Results that were not measured again stay (`merged_checks` and the others).
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from longlook.core import InputError, codec, registry, write_json
from longlook.instruments.conformance import tables
from longlook.instruments.conformance.checks import Report
from longlook.instruments.conformance.matrix import Matrix
from longlook.instruments.conformance.saved import root, saved
from longlook.provision import StackVersion, selected, stack_versions

Declared = Mapping[str, Sequence[str]]
"""The versions of each registered stack, oldest first."""

_BLOCK = re.compile(r"(<!-- (?P<name>[a-z0-9 ]+): generated -->\n)(?P<text>.*?)(<!-- (?P=name): end -->)", re.DOTALL)
_NOTHING = "Nothing has been measured yet."
_SECTION = re.compile(r"^### (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Merged:
    """The new text of a block, "" if there is nothing to show, and the names of the results that were kept."""

    text: str
    kept: tuple[str, ...] = ()


def merged_stacks(old: str, entries: Sequence[StackVersion], declared: Declared) -> Merged:
    """Merge the table of all stacks: rows of stacks that are not registered here stay."""
    made = tables.stacks_rows(entries)
    rows = {row[0]: row for row in tables.parsed(old)[1:] if row[0] not in declared}
    return _table([made[0], *made[1:], *rows.values()], tuple(rows))


def merged_checks(old: str, reports: Sequence[Report], declared: Declared) -> Merged:
    """Merge the table of checks, which has a row for each version."""
    made = tables.checks_rows(reports)
    known = [f"{stack}@{version}" for stack, versions in declared.items() for version in versions]
    before = {row[0]: row for row in tables.parsed(old)[1:] if row[0] in known or row[0].split("@")[0] not in declared}
    rows = before | {row[0]: row for row in made[1:]}
    order = [*(name for name in known if name in rows), *(name for name in rows if name not in known)]
    kept = tuple(name for name in order if name not in {row[0] for row in made[1:]})
    return _table([made[0], *(rows[name] for name in order)], kept)


def merged_knobs(old: str, reports: Sequence[Report], declared: Declared) -> Merged:
    """Merge the table of knobs, which has a column for the newest version of each stack."""
    columns = _columns(tables.parsed(old))
    chosen, kept = _newest_of(list(columns), reports, declared)
    made = _columns(tables.knobs_rows(reports))
    merged = {name: columns[name] if name in kept else made[name] for name in chosen}
    names = sorted({knob for column in merged.values() for knob, mark in column.items() if mark})
    rows = [["knob", *merged], *([knob, *(column.get(knob, "") for column in merged.values())] for knob in names)]
    return _table(rows, kept)


def merged_proofs(old: str, reports: Sequence[Report], declared: Declared) -> Merged:
    """Merge the sections of proofs, one for the newest version of each stack."""
    parts = _SECTION.split(old)[1:]
    before = {name: text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}
    made = {f"{report.stack} {report.version}": tables.proofs_table(report) for report in reports}
    chosen, kept = _newest_of(list(before), reports, declared)
    sections = [f"### {name}\n{before[name] if name in kept else made[name]}" for name in chosen]
    return Merged("\n\n".join(sections), kept)


def merged_matrix(old: str, found: Matrix | None) -> Merged:
    """Return the text of the new matrix, or the old one if the new one lacks one of its stacks as server or client.

    Rows of two matrices are not mixed: pairs of the one with the other would be missing.
    """
    return _pairs(old, found, tables.matrix_table)


def merged_handshakes(old: str, found: Matrix | None) -> Merged:
    """Return the round trips of the new matrix's handshakes, or the old ones, by the rule of `matrix`."""
    measured = found is not None and any(pair.handshake_round_trips is not None for pair in found.pairs)
    return _pairs(old, found if measured else None, tables.handshake_table)


def _pairs(old: str, found: Matrix | None, table: Callable[[Matrix], str]) -> Merged:
    rows = tables.parsed(old)
    servers, clients = [row[0] for row in rows[1:]], rows[0][1:] if rows else []
    if found is not None and _stacks(servers) <= _stacks(found.servers) and _stacks(clients) <= _stacks(found.clients):
        return Merged(table(found))
    return Merged(old.strip() if rows else "", tuple(dict.fromkeys([*servers, *clients])))


def _stacks(names: Sequence[str]) -> set[str]:
    return {name.split("@")[0] for name in names}


def _table(rows: Sequence[Sequence[str]], kept: tuple[str, ...]) -> Merged:
    return Merged(tables.markdown(rows), kept) if len(rows) > 1 else Merged("")


def _columns(rows: Sequence[Sequence[str]]) -> dict[str, dict[str, str]]:
    """Return the columns of a table by their heads, each as row name → cell; the first column has the rows' names."""
    if not rows:
        return {}
    return {head: {row[0]: row[number] for row in rows[1:]} for number, head in enumerate(rows[0][1:], 1)}


def _newest_of(
    old: Sequence[str], reports: Sequence[Report], declared: Declared
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return "STACK VERSION" of the newest version of each stack, and which of them come from the document."""
    made = {report.stack: report.version for report in reports}
    chosen: dict[str, str] = dict(made)
    kept = []
    for name in old:
        stack, version = name.rsplit(" ", 1)
        versions = declared.get(stack)
        if versions is not None and version not in versions:
            continue
        newer = versions is not None and stack in made and versions.index(version) > versions.index(made[stack])
        if stack not in made or newer:
            chosen[stack] = version
            kept.append(name)
    return tuple(f"{stack} {chosen[stack]}" for stack in sorted(chosen)), tuple(sorted(kept))


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


def _declared() -> Declared:
    declared: dict[str, list[str]] = {}
    for stack, version in selected(()):
        declared.setdefault(stack.name, []).append(version)
    return declared


BLOCKS: Mapping[str, Callable[[str], Merged]] = {
    "stacks": lambda old: merged_stacks(old, stack_versions(), _declared()),
    "tunable": lambda _old: Merged(tables.markdown(tables.tunable_rows(registry.load("stacks").values()))),
    "checks": lambda old: merged_checks(old, _reports(), _declared()),
    "knobs": lambda old: merged_knobs(old, _newest(_reports()), _declared()),
    "proofs": lambda old: merged_proofs(old, _newest(_reports()), _declared()),
    "matrix h3": lambda old: merged_matrix(old, saved_matrix("h3")),
    "handshakes h3": lambda old: merged_handshakes(old, saved_matrix("h3")),
    "matrix h2": lambda old: merged_matrix(old, saved_matrix("h2")),
    "handshakes h2": lambda old: merged_handshakes(old, saved_matrix("h2")),
}
"""The function that makes the new text of each block from its old text."""


def _newest(reports: Sequence[Report]) -> list[Report]:
    """Return one report for each stack that has knobs: the report of its newest version that was checked."""
    by_stack = {report.stack: report for report in reports if any(result.knob for result in report.results)}
    return [by_stack[name] for name in sorted(by_stack)]


def _file(protocol: str) -> Path:
    return root() / f"matrix-{protocol}.json"
