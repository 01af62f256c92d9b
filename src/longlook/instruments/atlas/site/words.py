"""The search of the site: whole words, so that `10 Mbit/s` finds no 10 MB.

Pages are found by the words in the index of the alphabetical page. `words_of` makes them here, and the same expressions
make words of what a reader types (search.js): both are written in the part of regular expressions that Python and
JavaScript share.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

REPLACED = (
    (r"[\u00a0\u202f\s]+", " "),
    ("[\u2212\u2013\u2010\u2011]", "-"),
    ("\u00d7", "x"),
    (r"\b([kmg]?bit)/s\b", r"\1"),
)
"""Expressions, and what stands instead in lower-case text: one kind of spaces, of minus and of times, and rates without
`/s`. The last one has the group's number as Python writes it; JavaScript gets `$1`."""
WORD = (
    r"[0-9]+(?:\.[0-9]+)*(?: ?(?:[kmg]?bit|[kmg]?b|ms|\u00b5s|s|%|bdp))(?![a-z0-9])"
    r"|[0-9]+(?:\.[0-9]+)*[a-z0-9%]*"
    r"|[^\s!-/:-@\[-`{-~\u2018-\u201f\u2026\u00b7\u2190-\u21ff\u2200-\u22ff]+"
)
"""A number with its unit, which are one word with or without a space between them; a number with letters; or a word."""


def words_of(*texts: str) -> set[str]:
    """Return the words of texts as the index has them, in lower case."""
    text = unicodedata.normalize("NFC", " \n ".join(texts)).lower()
    for pattern, instead in REPLACED:
        text = re.sub(pattern, instead, text)
    return {match[0].replace(" ", "") for match in re.finditer(WORD, text)}


def expressions() -> dict[str, Any]:
    """Return the expressions for search.js."""
    return {
        "replaced": [[pattern, instead.replace("\\1", "$1")] for pattern, instead in REPLACED],
        "word": WORD,
    }


def index_of(pages: Iterable[tuple[str, Mapping[str, set[str]]]]) -> dict[str, Any]:
    """Return the index: every word once, and for each page the numbers of its words.

    `pages` are addresses with the words of each part that is searched. All words that are looked for must be in one
    part.
    """
    known: dict[str, int] = {}
    rows = []
    listed = list(pages)
    for word in sorted({word for _, parts in listed for words in parts.values() for word in words}):
        known[word] = len(known)
    for address, parts in listed:
        rows.append([address, [[name, sorted(known[word] for word in words)] for name, words in parts.items()]])
    return {**expressions(), "words": list(known), "pages": rows}
