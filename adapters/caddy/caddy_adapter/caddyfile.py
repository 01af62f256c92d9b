"""A Caddyfile as text: its statements, with the lines where they stand."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from longlook_adapter.own_config import FormError

_WORD = re.compile(r'"(?:\\.|[^"\\])*"|`[^`]*`|[^\s]+', re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_DEEPEST = 50


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
    for number, words in _lines(text.replace("\r", "")):
        if words == ["}"]:
            if not open_blocks:
                raise FormError(number, "unexpected }")
            open_blocks.pop()
            continue
        opens = words[-1] == "{"
        if (
            {*words[:-1]} & {"{", "}"}
            or words[-1] == "}"
            or {word.strip('"`') for word in words if word[0] in '"`'} & {"{", "}"}
        ):
            raise FormError(
                number, "write { at the end of its line, } on a line of its own, and neither alone in quotes"
            )
        if opens and len(open_blocks) == _DEEPEST:
            raise FormError(number, f"more than {_DEEPEST} blocks within each other")
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
    """Yield number and words of each line that has any; a word in quotes may go over several lines."""
    if (control := _CONTROL.search(text)) is not None:
        raise FormError(text.count("\n", 0, control.start()) + 1, "a control character")
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
            if word[0].startswith("<<"):
                raise FormError(began, f"{word[0]}: no heredoc can be checked here: write a text in quotes")
            if word[0][0] not in '"`' and (word[0].endswith("\\") or word[0].startswith(('\\"', "\\`"))):
                raise FormError(began, f"{word[0]}: no \\ can stand there: write the word in quotes, or on one line")
    if words:
        yield began, words
