"""nginx's configuration as text: its directives, with the lines and places where they stand."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from longlook_adapter.own_config import FormError

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)|(?P<comment>\#[^\n]*)|(?P<end>;)|(?P<open>\{)|(?P<close>\})
    |(?P<quoted>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?P<word>(?:\\.|\$\{\w*\}|[^ \t\r\n;{}"'\\])(?:\\.|\$\{\w*\}|[^ \t\r\n;{}\\])*)""",
    re.VERBOSE | re.DOTALL,
)
"""nginx knows no other white space than these four characters."""
_DEEPEST = 50


@dataclass
class Directive:
    """A directive: its words, its line, and its place in the text as offsets.

    `inside` is the place between the braces of a block, None for a directive without one.
    """

    words: tuple[str, ...]
    line: int
    start: int
    end: int
    inside: tuple[int, int] | None = None
    children: list["Directive"] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its first word."""
        return self.words[0]


def parse(text: str) -> list[Directive]:
    """Return the directives at the top of a text, with those in their blocks; FormError if it has no such form."""
    top: list[Directive] = []
    blocks: list[Directive] = []
    words: list[str] = []
    start = at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        line = text.count("\n", 0, at) + 1
        if token is None:
            raise FormError(line, f"{text[at]} begins a text that does not end")
        kind, at = token.lastgroup, token.end()
        if kind in ("quoted", "word"):
            start = start if words else token.start()
            words.append(token[0])
        elif kind in ("end", "open"):
            if not words:
                raise FormError(line, f"unexpected {token[0]}")
            found = Directive(tuple(words), text.count("\n", 0, start) + 1, start, at)
            (blocks[-1].children if blocks else top).append(found)
            words = []
            if kind == "open":
                if len(blocks) == _DEEPEST:
                    raise FormError(line, f"more than {_DEEPEST} blocks within each other")
                found.inside = (at, at)
                blocks.append(found)
        elif kind == "close":
            if words:
                raise FormError(text.count("\n", 0, start) + 1, f"{words[0]} has no ; at its end")
            if not blocks:
                raise FormError(line, "unexpected }")
            block = blocks.pop()
            block.inside, block.end = ((block.inside or (at, at))[0], token.start()), at
    if words or blocks:
        unfinished = blocks[-1] if blocks else Directive(tuple(words), text.count("\n", 0, start) + 1, start, at)
        raise FormError(unfinished.line, f"{unfinished.name} has no {'}' if blocks else ';'} at its end")
    return top


def everything(directives: Iterable[Directive]) -> Iterator[Directive]:
    """Yield directives and all those in their blocks."""
    for each in directives:
        yield each
        yield from everything(each.children)


def only(text: str, kept: Sequence[Directive]) -> str:
    """Return the text with nothing but these directives, each on its line."""
    shown: list[str] = []
    at = 0
    for each in sorted(kept, key=lambda each: each.start):
        shown += [_blank(text[at : each.start]), text[each.start : each.end]]
        at = each.end
    return "".join([*shown, _blank(text[at:])])


def _blank(text: str) -> str:
    return "\n".join(" " * len(line) for line in text.split("\n"))


def without(text: str, dropped: Sequence[Directive]) -> str:
    """Return the text without these directives."""
    for each in sorted(dropped, key=lambda each: each.start, reverse=True):
        text = text[: each.start] + text[each.end :]
    return text
