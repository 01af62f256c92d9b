"""Sentences that give a cause of a result, and the change that showed it.

    python -m scripts.causal            print the sentences that name none
    python -m scripts.causal --check    fail if there is one (`make lint`)

A sentence with "because", "decides", "therefore", "the cause is" or their like is about a cause. It is read in README,
docs/results and the words of studies and disputes, and says one of these:

- what was changed: an arm, a contrast, a factor, a setting or a knob of a study, in `code` or "quotes" as its file has
  it, or one thing "instead of" another, or that "nothing else" was changed;
- the verdict of `longlook explain`: confirmed, refuted, or a link to docs/reference/causes.md;
- *not tested*, or not known;
- whose finding it is: a source with a verb of saying, or in brackets.

Reasons that are no results, such as those for a choice of a study, are said in other words: "so that", "as", "for".
"""

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from longlook.core import Study
from longlook.study import list_studies

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("README.md", "docs/results/*.md")
FILES = ("src/longlook/studies/*.toml", "src/longlook/disputes/*.toml")
OWN_WORDS = frozenset({"title", "notes", "label", "untestable", "why", "needs", "by"})
"""Keys of studies and disputes with our words; `source` and `says` are a source's, and a question states nothing."""

CAUSAL = re.compile(
    r"(?<!-)\b(because|due to|owing to|therefore|must have (?:had|been)|"
    r"(?<!not )decides?(?! (?:nothing|neither|none|little|all|whether|to)\b)|"
    r"(?:is|are|was|were) the (?:main |only |whole )?(?:cause|reason)s?|the (?:cause|reason)s? (?:is|are|was|were)|"
    r"caused by|causes? (?:it|this|them|the|a|an)|explains(?! how\b)|matters? more than)\b",
    re.IGNORECASE,
)
"""A word that gives a cause. "Decides nothing" and the like are about rounds, and "decides to" about a program."""

SAID = re.compile(
    r"\b(?:(?:say|write|explain|find|put|hold|report|give|conclude|mean)(?:s|d|ed)?|"
    r"said|wrote|found|held|gave|meant)\b|(?:papers?|sources?|al\.):"
)
SOURCE = re.compile(
    r"et al\.|\b(?:papers?|authors|students|sources?|article|Google|Langley|Kakhki|Wong|Mello|Benson|RFC \d+)\b"
)
CITED = re.compile(r"\([^()]*(?:et al\.|\bRFC \d+|\b(?:19|20)\d\d[a-z]?\))")
VERDICT = re.compile(
    r"\b(?:confirmed|refuted|not tested|untested|(?:is|are|was|were) (?:open|not known|not looked for|not found))\b|"
    r"reference/causes\.md",
    re.IGNORECASE,
)
CHANGED = re.compile(r"\binstead of\b|\bnothing else (?:is |was )?changed\b|\bwhether\b|\bnone of\b", re.IGNORECASE)
NAMED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|“([^”]+)”")
PLAIN = frozenset({"quic", "tcp"})
"""Names of arms that say which transport, and not what was changed."""

_END = re.compile(r"(?<!et al)(?<!fig)(?<!e\.g)(?<!i\.e)[.!?][*_)”\"]*\s+(?=[A-Z\d`*\"“‘(+−-])")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclass(frozen=True)
class Unnamed:
    """A sentence that gives a cause and names no change: its file below the checkout, its line, the word, its text."""

    path: str
    line: int
    word: str
    sentence: str


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text without line breaks."""
    start = 0
    for found in _END.finditer(text):
        yield text[start : found.end()].strip()
        start = found.end()
    yield text[start:].strip()


def cause_given(sentence: str, names: frozenset[str]) -> str | None:
    """Return the word with which a sentence gives a cause without naming a change, or None. A question gives none.

    `names` are what a change may be called: names of arms, contrasts, factors, settings, knobs and causes.
    """
    found = CAUSAL.search(sentence)
    if found is None or sentence.rstrip("*_ ").endswith("?"):
        return None
    attributed = CITED.search(sentence) or (SOURCE.search(sentence) and SAID.search(sentence))
    if attributed or VERDICT.search(sentence) or CHANGED.search(sentence):
        return None
    named = (next(part for part in groups if part) for groups in NAMED.findall(sentence))
    return None if any(_is_known(name, names) for name in named) else found[0]


def _is_known(name: str, names: frozenset[str]) -> bool:
    """Return whether code or a quotation names a change: as it is, or a setting before its value."""
    return name in names or re.split(r"\s*=", name)[0] in names


@cache
def known_names() -> frozenset[str]:
    """Return the names of everything that the installed studies change."""
    return frozenset(name for study in list_studies() for name in _names(study)) - PLAIN


def _names(study: Study) -> Iterator[str]:
    yield from (arm.name for arm in study.arms)
    yield from (contrast.name for contrast in study.contrasts)
    for factor in study.factors:
        yield factor.name
    for settings in (arm.settings for arm in study.arms):
        yield from settings
        yield from (name.rpartition(".")[2] for name in settings if "_knobs." in name)


def unnamed(root: Path = ROOT) -> Iterator[Unnamed]:
    """Yield the sentences of documents, studies and disputes that give a cause and name no change."""
    for pattern in (*DOCUMENTS, *FILES):
        for path in sorted(root.glob(pattern)):
            name, text = path.relative_to(root).as_posix(), path.read_text()
            for line, sentence in _of_toml(text) if path.suffix == ".toml" else _of_markdown(text):
                word = cause_given(sentence, known_names())
                if word is not None:
                    yield Unnamed(name, line, word, sentence)


def _of_markdown(text: str) -> Iterator[tuple[int, str]]:
    """Yield sentences with their line, without comments, blocks of code and what is quoted of a program (`> `)."""
    shown = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    for number, line in enumerate(shown.splitlines(), 1):
        if not line.startswith(("    ", ">")):
            yield from ((number, sentence) for sentence in sentences(line))


def _of_toml(text: str) -> Iterator[tuple[int, str]]:
    lines = text.splitlines()
    for words in _own_words(tomllib.loads(text)):
        for sentence in (part for line in words.splitlines() for part in sentences(line)):
            found = CAUSAL.search(sentence)
            if found is not None:
                start = sentence[max(0, found.start() - 12) : found.end()]
                place = next((number for number, line in enumerate(lines, 1) if start in line), 1)
                yield place, sentence


def _own_words(data: Any, key: str = "") -> Iterator[str]:
    """Yield the texts of a study or dispute that are ours."""
    if isinstance(data, Mapping):
        for name, value in data.items():
            yield from _own_words(value, name)
    elif isinstance(data, list):
        for value in data:
            yield from _own_words(value, key)
    elif isinstance(data, str) and key in OWN_WORDS:
        yield data


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the sentences that name no change; with `--check` raise SystemExit if there is one."""
    parser = argparse.ArgumentParser(description="Sentences that give a cause of a result name what was changed.")
    parser.add_argument("--check", action="store_true", help="fail if a sentence names nothing")
    options = parser.parse_args(arguments)
    found = list(unnamed())
    sys.stdout.write("".join(f"{each.path}:{each.line}: “{each.word}”: {each.sentence}\n" for each in found))
    if options.check and found:
        sys.exit(
            f"{len(found)} sentences give a cause and do not name what was changed: name the arm, contrast or knob "
            "that changes it, a confirmed explanation or the source, or say *not tested* (scripts/causal.py)"
        )


if __name__ == "__main__":
    main()
