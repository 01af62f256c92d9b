"""Numbers of pages that are bound to entries: comments name the place of each, and a number that differs is wrong.

A comment behind a sentence binds numbers of the text before it, a comment before a table binds the table's cells:

    QUIC loads 28 % earlier at 50 Mbit/s and 60 % at 100. <!--
    from kakhki2017-fig15: calibration: 430 vs 107 | 10MB; 28 % = 50Mbit; 60 % = 100Mbit -->

    <!-- table first-request: rows: 0-RTT vs resumed TCP; 0-RTT vs TCP with early data; columns: 20ms | 10KB; – -->

A line of a comment that begins with `from STUDY:` goes on with another study. `TEXT = PLACE` is about the last such
text before the comment that stands left of the next item's. An item without `=` holds for all items after it.
`longlook.instruments.atlas.claims.places` has the words of a place, which stand between bars. A table has a place for
each row and for each of its last columns; – binds nothing. A text with `equivalent` is about equivalent cells, and one
with `open`, `undecided`, `inconclusive` or (?) about inconclusive ones. A cell of a table that says neither is decided,
unless `silent` stands among the items.

The number behind a command that runs a study whole is the number of the entry's trials, without a comment.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from longlook.core import Verdict, codec, nearest
from longlook.instruments.atlas.claims.entries import read_entry
from longlook.instruments.atlas.claims.entry import Entry
from longlook.instruments.atlas.claims.places import MINUS, Place, PlaceError, place_of, shown, tokens

ROOT = Path(__file__).parents[1]
ENTRIES = ROOT / "docs" / "data" / "entries"
_COMMENT = re.compile(r"<!--\s+(?=(?:from|table) )(?P<inside>.*?)-->", re.S)
_CLAUSE = re.compile(r"(?P<kind>from|table) (?P<study>[\w-]+):(?P<body>.*?)(?=\n *(?:from|table) |-->)", re.S)
_COMMAND = re.compile(r"^ {4,}longlook run (?P<study>[\w-]+) +# (?P<trials>\d[\d,]*)(?= trials|;|$)", re.M)
"""A command that runs a study whole, and the number of its trials."""
_KINDS = ("from", "table", "claims", "statements", "Made")
"""The first words of comments in pages: here, in scripts/claim_counts.py, and of pages that a command makes."""
_NOTHING = "–"
_OPEN = re.compile(r"\bopen\b|\bundecided\b|\binconclusive\b|\(\?\)")
_HIDDEN = re.compile(r"<!--.*?-->|^(?:    |<img ).*?$|^#.*?$|`[^`\n]*`|\]\([^)\n]*\)|https?://\S+", re.S | re.M)
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_RESULT = re.compile(rf"(?<![\w.,{MINUS}+:/–-])(?:[+{MINUS}]{_DIGITS}|{_DIGITS}[ \u00a0](?:%|ms|s|times|points)(?!\w))")
"""A number that looks like a result, with its unit if it has no sign."""


@cache
def entry_named(study: str) -> Entry:
    """Return the entry of a study; PlaceError if there is none."""
    path = ENTRIES / f"{study}.json"
    if not path.is_file():
        known = [file.stem for file in ENTRIES.glob("*.json")]
        raise PlaceError(f"no entry of a study {study!r}{nearest(study, known)}")
    return read_entry(path)


@dataclass(frozen=True)
class Binding:
    """A text of a page, and the place whose values it shows."""

    start: int
    end: int
    place: Place
    written: tuple[int, int] | None = None  # the same text within the comment
    verdict: bool = False  # whether the text has to show a verdict that is not decided

    @property
    def in_words(self) -> bool:
        """Whether numbers may be in words; not in tables, which say other things in words."""
        return self.written is not None


@dataclass(frozen=True)
class Fault:
    """A text of a page that does not show the values of its place: `right` is what it should be, None if unknown."""

    page: str
    line: int
    text: str
    right: str | None
    reason: str

    def __str__(self) -> str:
        """Return the fault for the terminal."""
        said = f"{self.text!r} should be {self.right!r}" if self.right is not None else repr(self.text)
        return f"{self.page}:{self.line}: {said} ({self.reason})"


@dataclass(frozen=True)
class Page:
    """A page that was checked: its bound texts, its faults, and its text with the right numbers."""

    name: str
    text: str
    bindings: tuple[Binding, ...]
    faults: tuple[Fault, ...]
    corrected: str

    @property
    def is_result(self) -> bool:
        """Whether all that looks like a result should be bound: in README and in docs/results."""
        return self.name == "README.md" or self.name.startswith("docs/results/")

    @property
    def bound(self) -> int:
        """How many numbers are bound."""
        parts = (tokens(self.text[each.start : each.end], words=each.in_words) for each in self.bindings)
        return sum(len(token.numbers) for found in parts for token in found)

    @property
    def unbound(self) -> list[str]:
        """The numbers that look like results and are bound to no entry: with a sign, or with the unit of a share or a
        time; but for what the studies that the page names set, such as a round trip of 36 ms."""
        settings = self._settings()
        shown = _HIDDEN.sub(lambda match: re.sub(r"\S", " ", match[0]), self.text)
        return [
            match[0]
            for match in _RESULT.finditer(shown)
            if not any(each.start <= match.start() < each.end for each in self.bindings)
            and match[0].replace(" ", "").replace("\u00a0", "") not in settings
        ]

    def _settings(self) -> set[str]:
        """Return the times and shares that the studies named on the page set, and those in labels of their levels."""
        named = {word for word in re.findall(r"[\w-]+", self.text) if (ENTRIES / f"{word}.json").is_file()}
        studies = (replace(entry_named(study).study, claims=(), notes="") for study in named)
        texts = (text for study in studies for text in re.findall(r'"([^"]*)"', json.dumps(codec.encode(study))))
        return {word for text in texts for word in re.findall(r"(?<![\w.])\d[\d.]*(?:%|ms|s)(?!\w)", text)}


def pages(root: Path = ROOT) -> list[Path]:
    """Return the pages with numbers of entries: README, docs/results, and other documents that name any."""
    found = [*root.glob("README.md"), *sorted((root / "docs").rglob("*.md"))]
    results, bound = root / "docs" / "results", re.compile(f"{_COMMENT.pattern}|{_COMMAND.pattern}", re.S | re.M)
    return [file for file in found if file.parent in (root, results) or bound.search(file.read_text("utf-8"))]


def checked(name: str, text: str) -> Page:
    """Return what is bound and what is wrong in a page of this name."""
    bindings: list[Binding] = []
    faults: list[Fault] = []
    changes: list[tuple[int, int, str]] = []
    for comments in _groups(text):
        for binding in _bindings(name, text, comments, faults):
            bindings.append(binding)
            now = text[binding.start : binding.end]
            line = text.count("\n", 0, binding.start) + 1
            where = binding.place.entry.study.id
            try:
                right = shown(now, binding.place, words=binding.in_words)
                if wrong := _wrong_verdict(now, binding.place, needed=binding.verdict):
                    faults.append(Fault(name, line, now, None, f"{where}: the verdict is {wrong}"))
            except PlaceError as error:
                faults.append(Fault(name, line, now, None, f"{where}: {error}"))
                continue
            if right != now:
                faults.append(Fault(name, line, now, right, where))
                changes.append((binding.start, binding.end, right))
                if binding.written is not None:
                    changes.append((*binding.written, right))
    for comment in re.finditer(r"<!--\s*(\w*)[^>]*", text):
        if comment[1] not in _KINDS:
            line = text.count("\n", 0, comment.start()) + 1
            faults.append(Fault(name, line, comment[1], None, f"a comment begins with {' or '.join(_KINDS)}"))
    for command in _COMMAND.finditer(text):
        if (ENTRIES / f"{command['study']}.json").is_file():
            right = f"{entry_named(command['study']).trials:,}"
            if right != command["trials"]:
                line = text.count("\n", 0, command.start()) + 1
                faults.append(Fault(name, line, command["trials"], right, f"trials of {command['study']}"))
                changes.append((*command.span("trials"), right))
    corrected = text
    for start, end, right in sorted(changes, reverse=True):
        corrected = corrected[:start] + right + corrected[end:]
    return Page(name, text, tuple(bindings), tuple(faults), corrected)


def read(path: Path, root: Path = ROOT) -> Page:
    """Return a page of a checkout, checked."""
    return checked(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))


def visible(text: str) -> str:
    """Return a page without the comments that bind its numbers."""
    return re.sub(rf" ?{_COMMENT.pattern}\n?", "\n", text, flags=re.S)


def _groups(text: str) -> Iterator[list[re.Match[str]]]:
    """Yield the clauses of comments, of those that stand one behind the other as one group."""
    group: list[re.Match[str]] = []
    end = 0
    for comment in _COMMENT.finditer(text):
        if group and text[end : comment.start()].strip():
            yield group
            group = []
        group += _CLAUSE.finditer(text, comment.start(), comment.end())
        end = comment.end()
    if group:
        yield group


def _bindings(name: str, text: str, group: Sequence[re.Match[str]], faults: list[Fault]) -> Iterator[Binding]:
    end = text.rindex("<!--", 0, group[0].start())
    items = []
    for comment in group:
        try:
            if comment["kind"] == "table":
                yield from _of_table(text, comment, text.index("-->", group[-1].end()) + 3)
            else:
                items += _items(comment)
        except PlaceError as error:
            line = text.count("\n", 0, comment.start()) + 1
            faults.append(Fault(name, line, comment["study"], None, str(error)))
    begin = max(text.rfind("\n\n", 0, end), text.rfind("-->", 0, end), 0)
    for (start, stop), place in reversed(items):
        wanted = text[start:stop]
        found = list(re.finditer(_as_token(wanted), text[begin:end]))
        if not found:
            line = text.count("\n", 0, group[0].start()) + 1
            faults.append(Fault(name, line, wanted, None, _not_found(wanted, place)))
            continue
        at, end_of = begin + found[-1].start(), begin + found[-1].end()
        yield Binding(at, end_of, place, (start, stop))
        end = at


def _not_found(text: str, place: Place) -> str:
    """Return what to say of the text of an item that the sentence does not have, with the right one if it is known."""
    try:
        gives = f"; its place gives {shown(text, place)!r}"
    except PlaceError as error:
        gives = f"; {error}"
    return f"it is not in the text before its comment, in this order{gives}"


def _as_token(text: str) -> str:
    """Return a pattern of a text that may be broken by the end of a line, and begins and ends no longer number."""
    words = r"\s+".join(re.escape(word) for word in text.split())
    return rf"(?<![\w.,+{MINUS}]){words}(?![\w]|[.,]\d)"


def _items(comment: re.Match[str]) -> list[tuple[tuple[int, int], Place]]:
    """Return the items of a comment behind a sentence: where their texts stand, and their places."""
    entry = entry_named(comment["study"])
    scope: list[str] = []
    found = []
    for match in re.finditer(r"[^;]+", comment["body"]):
        text, *rest = re.split(r"\s=(?:\s|$)", match[0], maxsplit=1)
        if not rest:
            scope = _words(text)
            continue
        start = comment.start("body") + match.start() + len(text) - len(text.lstrip())
        found.append(((start, start + len(text.strip())), place_of(entry, _words(rest[0]), scope)))
    return found


def _words(text: str) -> list[str]:
    return [word for part in text.split("|") if (word := " ".join(part.split()))]


def _of_table(text: str, comment: re.Match[str], end: int) -> Iterator[Binding]:
    """Yield a binding for each cell that a comment before a table names."""
    entry = entry_named(comment["study"])
    scope, rows, columns, silent = _table_items(comment["body"])
    lines = _table_lines(text, end)
    if len(lines) != len(rows):
        raise PlaceError(f"{len(rows)} places for {len(lines)} rows of the table")
    for (start, line), row in zip(lines, rows, strict=True):
        cells = [(match.start(1), match[1]) for match in re.finditer(r"(?<=\|)([^|]*)(?=\|)", line)]
        for (at, cell), column in zip(cells[-len(columns) :], columns, strict=True):
            if _NOTHING in (*row, *column) or not tokens(cell, words=False):
                continue
            begin = start + at + len(cell) - len(cell.lstrip())
            yield from _of_cell(text, begin, begin + len(cell.strip()), place_of(entry, [*row, *column], scope), silent)


def _of_cell(text: str, begin: int, end: int, place: Place, silent: bool) -> Iterator[Binding]:
    """Yield the bindings of a cell, whole but for two kinds.

    A time or rate before an effect is the contender's median. If the place is `published`, the number before a slash
    is, and the one behind it the effect.
    """
    cell = text[begin:end]
    if "published" in place.wanted and " / " in cell:
        middle = begin + cell.index(" / ")
        if tokens(text[begin:middle], words=False):
            yield Binding(begin, middle, place)
        begin, cell = middle + 3, text[middle + 3 : end]
        place, silent = replace(place, wanted=tuple(word for word in place.wanted if word != "published")), True
    median = re.match(r"[\d.,]+[ \u00a0](?:ms|s|Mbit/s), (?=[+" + MINUS + r"\d])", cell)
    if median is not None and not place.arms and not place.wanted:
        yield Binding(begin, begin + median.end() - 2, replace(place, wanted=("contender",)))
        begin += median.end()
    elif re.fullmatch(r"[\d.,]+[ \u00a0](?:ms|s|Mbit/s)", cell) and not place.arms and not place.wanted:
        place = replace(place, wanted=("contender",))
    plain = bool(place.arms) or bool(place.wanted)
    yield Binding(begin, end, place, verdict=not (silent or plain))


def _table_items(body: str) -> tuple[list[str], list[list[str]], list[list[str]], bool]:
    """Return the scope, the places of the rows and of the columns, and whether verdicts are not shown."""
    parts: dict[str, list[list[str]]] = {"": [], "rows:": [], "columns:": []}
    into, silent = "", False
    for item in body.split(";"):
        text = item.strip()
        for head in ("rows:", "columns:"):
            if text.startswith(head):
                into, text = head, text.removeprefix(head)
        if text == "silent":
            silent = True
        elif text.strip():
            parts[into].append(_words(text))
    return [word for words in parts[""] for word in words], parts["rows:"], parts["columns:"], silent


def _table_lines(text: str, begin: int) -> list[tuple[int, str]]:
    """Return the rows of the table that begins after a place of the text, each with where it begins."""
    found = []
    at = begin
    for line in text[begin:].splitlines(keepends=True):
        if line.startswith("|"):
            found.append((at, line))
        elif line.strip():
            break
        at += len(line)
    return found[2:]


def _wrong_verdict(text: str, place: Place, *, needed: bool) -> str | None:
    """Return the verdict of an estimate of a place, if a text says another one, or says none although it is needed."""
    said = Verdict.INCONCLUSIVE if _OPEN.search(text) else Verdict.EQUIVALENT if "equivalent" in text else None
    if said is None and not needed:
        return None
    decided = {Verdict.BETTER, Verdict.WORSE}
    allowed = decided if said is None else {said}
    return next((str(item.verdict) for item in place.estimates() if item.verdict not in allowed), None)
