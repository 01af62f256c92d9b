"""Counts of claims in documents come from the entries: a comment before each says which claims are counted.

    Fig. 6a: <!-- claims kakhki2017-fig6a -->12 same size, 8 other size, 1 no difference.
    <!-- statements | kind=number -->187 same size, 137 other size, 27 contradicted

A line may end behind `<!--`. `claims` counts the claims of studies, one a cell; `statements` counts what sources state,
each once. `*` in a name stands for anything, and no name for all studies. Behind bars a choice may follow: `kind=`,
`paper=`, `contrast=`, `arm=`, `id=` (the beginning of a claim's id) or a factor with its level, as in `path=1%-loss`;
a semicolon separates alternatives. `make generate` puts the counts in, `make lint` compares them.
"""

import fnmatch
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longlook.core import Claim, ClaimResult
    from longlook.instruments.atlas.claims.entry import Entry

ROOT = Path(__file__).parents[1]
ENTRIES = ROOT / "docs" / "data" / "entries"
_MARK = re.compile(r"<!--\s+(?:claims|statements)\b")


class CountError(ValueError):
    """A comment asks for what no entry has."""


@cache
def entries() -> Mapping[str, "Entry"]:
    """Return the entries of this repository by study."""
    from longlook.instruments.atlas.claims.entries import EntryFolder

    return EntryFolder(ENTRIES, (path.stem for path in ENTRIES.glob("*.json"))).all()


@cache
def judged() -> Mapping[str, Sequence["ClaimResult"]]:
    """Return the claims of every study that has an entry, judged by it; of studies without one nothing is known."""
    from longlook.instruments.atlas import content
    from scripts.reference import shipped

    return {name: content.judged(shipped(name), entry) for name, entry in entries().items()}


def pages(root: Path = ROOT) -> list[Path]:
    """Return the documents that have counts of claims."""
    files = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    return [file for file in files if _MARK.search(file.read_text(encoding="utf-8"))]


@cache
def _pattern() -> re.Pattern[str]:
    """Return the pattern of a comment with the counts behind it."""
    from longlook.instruments.atlas.claims.counts import STATEMENT_RESULTS

    count = rf"\d+ (?:{'|'.join(STATEMENT_RESULTS)})"
    return re.compile(rf"<!--\s+(?P<what>claims|statements)(?P<asked>[^>]*?) -->(?P<counts>{count}(?:, {count})*)")


def with_counts(text: str) -> str:
    """Return a document with the counts that the entries give; CountError for a comment without any behind it."""
    from longlook.instruments.atlas.claims.counts import in_words

    found = list(_pattern().finditer(text))
    if len(found) != len(_MARK.findall(text)):
        known = {match.start() for match in found}
        lost = next(match for match in _MARK.finditer(text) if match.start() not in known)
        raise CountError(f"line {text.count(chr(10), 0, lost.start()) + 1}: no counts stand behind the comment")
    for match in reversed(found):
        counts = in_words(counted(match["what"], match["asked"]))
        text = text[: match.start("counts")] + counts + text[match.end("counts") :]
    return text


def counted(what: str, asked: str) -> Mapping[str, int]:
    """Return the counts by result, in the order of results, of what a comment asks for."""
    from longlook.instruments.atlas.claims.counts import result_counts, statement_counts

    names, choice = _parsed(asked)
    claims = [item for name in names or judged() for item in judged()[name] if _fits(item.claim, name, choice)]
    if not claims:
        raise CountError(f"no claim fits <!-- {what}{asked} -->")
    return result_counts(claims) if what == "claims" else statement_counts(claims)


def _parsed(asked: str) -> tuple[list[str], Mapping[str, Sequence[str]]]:
    """Return the studies that a comment names, and the alternatives of each key of its choice."""
    first, *parts = (part.strip() for part in asked.split("|"))
    names = []
    for word in first.split():
        found = fnmatch.filter(judged(), word)
        if not found:
            raise CountError(f"no entry of {word}")
        names += found
    choice = {}
    for part in parts:
        key, equals, values = part.partition("=")
        if not equals:
            raise CountError(f"{part!r} is no choice: write key=value")
        choice[key] = [value.strip() for value in values.split(";")]
    return names, choice


def _fits(claim: "Claim", study: str, choice: Mapping[str, Sequence[str]]) -> bool:
    from longlook.instruments.atlas.papers import paper_key

    facts = {
        "kind": str(claim.kind),
        "paper": paper_key(study),
        "contrast": claim.contrast,
        "arm": claim.expected.arm if claim.expected else "",
        "id": next((name for name in choice.get("id", ()) if claim.id.startswith(name)), ""),
        **claim.cell,
    }
    return all(facts.get(key) in values for key, values in choice.items())
