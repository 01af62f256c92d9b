"""The findings of the site's first page: sentences of a file, with numbers that come from entries.

`findings.toml` is the file that is shipped; docs/guide/atlas-site.md has its keys. Each number of a sentence is a
macro, bound to a place of an entry, with conditions that the entry must keep. A macro whose place is gone, or whose
condition does not hold, is a problem of the file, and no site is built.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from pydantic import Field

from longlook.core import Contrast, InputError, Problems, Verdict, read_toml
from longlook.instruments.atlas.claims.entries import Found
from longlook.instruments.atlas.claims.places import SIDES, VERDICTS, Place, PlaceError, place_of, shown
from longlook.study import SchemaVersion, Table, Text, parse_table

SHIPPED = "findings.toml"
HINT = (
    "docs/guide/atlas-site.md has the keys. Correct the sentence, or name a file with findings of these entries: "
    "--findings FILE (one with `findings = []` has none)"
)
_MACRO = re.compile(r"\{(?P<text>[^{}=]+?)\s*=\s*(?P<place>[^{}]*)\}")
_BOUND = re.compile(r"at (?P<which>least|most) (?P<number>[+-]?\d+(?:\.\d+)?)")
_BRACE = re.compile(r"[{}]")


class FindingTable(Table):
    """`[[findings]]`: a finding in plain words, and the contrasts that its picture shows."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    title: Text
    study: Text
    text: Text
    contrasts: Annotated[list[Text], Field(min_length=1, max_length=2)]


class FindingsTable(Table):
    """A whole file."""

    schema_: Annotated[SchemaVersion, Field(alias="schema")]
    findings: list[FindingTable]


@dataclass(frozen=True)
class PlainFinding:
    """A finding with its numbers in place. `name` is its address on the first page."""

    name: str
    title: str
    study: str
    text: str
    contrasts: tuple[Contrast, ...]


def read_findings(path: Path | None, found: Mapping[str, Found]) -> list[PlainFinding]:
    """Return the findings of a file, by default the shipped one; `found` are runs by study.

    InputError with every problem, one a line, if a number has no place any more, or if its entry says something else.
    """
    if path is None:
        path = Path(str(files(__package__).joinpath(SHIPPED)))
    problems = Problems(path.name, HINT)
    table = parse_table(FindingsTable, read_toml(path), problems)
    findings: list[PlainFinding] = []
    for item in () if table is None else table.findings:
        if item.name in {each.name for each in findings}:
            problems.add(f"findings.{item.name}", "two findings have this name")
        if (one := _finding(item, found.get(item.study), problems)) is not None:
            findings.append(one)
    problems.raise_if_any()
    if table is None:  # parse_table has reported the reason
        raise InputError(f"{path.name} has no findings", HINT)
    return findings


def _finding(item: FindingTable, found: Found | None, problems: Problems) -> PlainFinding | None:
    where = f"findings.{item.name}"
    if found is None:
        problems.add_value(f"{where}.study", item.study, "there is no entry of this study")
        return None
    known = {contrast.name: contrast for contrast in found.study.contrasts}
    for name in item.contrasts:
        if name not in known:
            problems.add_value(f"{where}.contrasts", name, "the study has no such contrast")
        elif not any(estimate.contrast == name for estimate in found.entry.estimates):
            problems.add_value(f"{where}.contrasts", name, "the entry has no value of this contrast")
    try:
        text = with_numbers(item.text, found)
    except PlaceError as error:
        problems.add(f"{where}.text", str(error))
        return None
    contrasts = tuple(known[name] for name in item.contrasts if name in known)
    return PlainFinding(item.name, item.title, item.study, text, contrasts)


def with_numbers(text: str, found: Found) -> str:
    """Return a text whose macros are replaced by the numbers of their places; PlaceError if one has none, or if a
    condition does not hold.
    """
    filled = _MACRO.sub(lambda match: _number(match["text"], match["place"], found), " ".join(text.split()))
    if _BRACE.search(filled):
        raise PlaceError("a brace that belongs to no macro: write {TEXT = PLACE; CONDITION}")
    return filled


def _number(text: str, described: str, found: Found) -> str:
    first, *conditions = (part.strip() for part in described.split(";"))
    place = place_of(found.entry, [word.strip() for word in first.split("|") if word.strip()])
    try:
        new = shown(text, place).replace(" %", "\u00a0%")
        _check(place, conditions)
    except PlaceError as error:
        raise PlaceError(f"{{{text} = {first}}}: {error}") from error
    return new


def _check(place: Place, conditions: Sequence[str]) -> None:
    """Raise PlaceError unless the values of a place keep all conditions, of which an effect needs one."""
    if not conditions and not place.verdicts:
        raise PlaceError("no condition: name a verdict (better, worse, …), `at least N` or `at most N`")
    is_effect = not place.arms and not set(SIDES) & set(place.wanted)
    for condition in conditions:
        bound = _BOUND.fullmatch(condition)
        if bound is not None:
            limit, most = float(bound["number"]), bound["which"] == "most"
            values = [value.number for value in place.values()]
            if any(value is None or (value > limit if most else value < limit) for value in values):
                raise PlaceError(f"its values are not {condition}: {', '.join(map(str, values))}")
        elif condition in VERDICTS and is_effect:
            _check_verdict(place, condition, VERDICTS[condition])
        else:
            words = ", ".join(VERDICTS) if is_effect else "no verdict, as it is no effect"
            raise PlaceError(f"{condition!r} is no condition; known: {words}, `at least N`, `at most N`")


def _check_verdict(place: Place, said: str, allowed: frozenset[Verdict]) -> None:
    other = [f"{item.cell_id} is {item.verdict}" for item in place.estimates() if item.verdict not in allowed]
    if other:
        raise PlaceError(f"the sentence says {said}, but {', '.join(other)}")
