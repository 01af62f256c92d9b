"""Merges what was measured now into the tables of an older document, which may hold results of other machines. Pure.

A result of the document stays unless it was measured again, or its stack no longer declares the version. Stacks that
are not registered here, such as plug-ins of another machine, stay too.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from longlook.instruments.conformance import tables
from longlook.instruments.conformance.checks import Report
from longlook.instruments.conformance.matrix import Matrix
from longlook.provision import StackVersion

Declared = Mapping[str, Sequence[str]]
"""The versions of each registered stack, oldest first."""

_SECTION = re.compile(r"^### (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Merged:
    """The new text of a block, "" if there is nothing to show, and the names of the results that were kept."""

    text: str
    kept: tuple[str, ...] = ()


def stacks(old: str, entries: Sequence[StackVersion], declared: Declared) -> Merged:
    """Merge the table of all stacks: rows of stacks that are not registered here stay."""
    made = tables.stacks_rows(entries)
    rows = {row[0]: row for row in tables.parsed(old)[1:] if row[0] not in declared}
    return _table([made[0], *made[1:], *rows.values()], tuple(rows))


def checks(old: str, reports: Sequence[Report], declared: Declared) -> Merged:
    """Merge the table of checks, which has a row for each version."""
    made = tables.checks_rows(reports)
    known = [f"{stack}@{version}" for stack, versions in declared.items() for version in versions]
    before = {row[0]: row for row in tables.parsed(old)[1:] if row[0] in known or row[0].split("@")[0] not in declared}
    rows = before | {row[0]: row for row in made[1:]}
    order = [*(name for name in known if name in rows), *(name for name in rows if name not in known)]
    kept = tuple(name for name in order if name not in {row[0] for row in made[1:]})
    return _table([made[0], *(rows[name] for name in order)], kept)


def knobs(old: str, reports: Sequence[Report], declared: Declared) -> Merged:
    """Merge the table of knobs, which has a column for the newest version of each stack."""
    columns = _columns(tables.parsed(old))
    chosen, kept = _newest_of(list(columns), reports, declared)
    made = _columns(tables.knobs_rows(reports))
    merged = {name: columns[name] if name in kept else made[name] for name in chosen}
    names = sorted({knob for column in merged.values() for knob, mark in column.items() if mark})
    rows = [["knob", *merged], *([knob, *(column.get(knob, "") for column in merged.values())] for knob in names)]
    return _table(rows, kept)


def proofs(old: str, reports: Sequence[Report], declared: Declared) -> Merged:
    """Merge the sections of proofs, one for the newest version of each stack."""
    parts = _SECTION.split(old)[1:]
    before = {name: text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}
    made = {f"{report.stack} {report.version}": tables.proofs_table(report) for report in reports}
    chosen, kept = _newest_of(list(before), reports, declared)
    sections = [f"### {name}\n{before[name] if name in kept else made[name]}" for name in chosen]
    return Merged("\n\n".join(sections), kept)


def matrix(old: str, found: Matrix | None) -> Merged:
    """Return the text of the new matrix, or the old one if the new one lacks one of its stacks as server or client.

    Rows of two matrices are not mixed: pairs of the one with the other would be missing.
    """
    return _pairs(old, found, tables.matrix_table)


def handshakes(old: str, found: Matrix | None) -> Merged:
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
