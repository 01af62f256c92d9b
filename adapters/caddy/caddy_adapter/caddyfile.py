"""A Caddyfile as text: its statements, with the lines where they stand."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_WORD = re.compile(r'"(?:\\.|[^"\\])*"|`[^`]*`|[^\s]+', re.DOTALL)
_HEREDOC = re.compile(r"<<(\w+)")


class FormError(ValueError):
    """The text is no Caddyfile; `line` is where."""

    def __init__(self, line: int, reason: str) -> None:
        """Take the line, from 1, and what is wrong there."""
        super().__init__(reason)
        self.line = line


@dataclass
class Statement:
    """The words of a line, and the statements in its block; without words it is the block of global options."""

    words: tuple[str, ...]
    line: int
    children: list["Statement"] = field(default_factory=list)


def parse(text: str) -> list[Statement]:
    """Return the statements at the top; FormError if braces do not match. A site without braces has its lines, too.

    A first line at the top that opens no block is the address of such a site.
    """
    top: list[Statement] = []
    open_blocks: list[Statement] = []
    bare: Statement | None = None
    for number, words in _lines(text):
        if words == ["}"]:
            if not open_blocks:
                raise FormError(number, "unexpected }")
            open_blocks.pop()
            continue
        opens = words[-1] == "{"
        found = Statement(tuple(words[:-1] if opens else words), number)
        if open_blocks:
            open_blocks[-1].children.append(found)
        elif bare is not None:
            bare.children.append(found)
        else:
            top.append(found)
            bare = None if opens else found
        if opens:
            open_blocks.append(found)
    if open_blocks:
        raise FormError(open_blocks[-1].line, "this { has no }")
    return top


def everything(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Yield statements and all those in their blocks."""
    for each in statements:
        yield each
        yield from everything(each.children)


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield number and words of each line that has any; a word in quotes, or a heredoc, may go over several lines."""
    words: list[str] = []
    at = began = 0
    while at < len(text):
        if text[at] == "\n":
            if words:
                yield began, words
            words = []
            at += 1
        elif text[at].isspace():
            at += 1
        elif text[at] == "#":
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
        elif text.startswith("\\\n", at):
            at += 2
        else:
            began = began if words else text.count("\n", 0, at) + 1
            word = _WORD.match(text, at)
            if word is None:
                raise FormError(began, "a text in quotes does not end")
            words.append(word[0])
            at = word.end()
            if (heredoc := _HEREDOC.fullmatch(word[0])) is not None:
                end = re.compile(rf"^\s*{heredoc[1]}\b", re.MULTILINE).search(text, at)
                if end is None:
                    raise FormError(began, f"{word[0]} has no end")
                at = end.end()
    if words:
        yield began, words
