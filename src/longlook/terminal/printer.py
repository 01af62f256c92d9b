"""Results for people, for machines and for files: a command makes one printer of its options and hands it results.

A result is handed over as `Renderings`: its forms, of which each is made only if a printer asks for it. So no command
asks a second time what its options were, and a form more is one class here.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from rich.console import Console, RenderableType
from rich.text import Text

from longlook.terminal.console import output_console


@dataclass(frozen=True)
class Unwrapped:
    """A part whose lines stay as long as they are, such as a path that somebody copies."""

    part: RenderableType
    style: str | None = None


@dataclass(frozen=True)
class Prose:
    """A text that people read: a terminal breaks its lines between words; in a pipe or a file they stay whole."""

    text: str
    style: str | None = None


@dataclass(frozen=True)
class Renderings:
    """The forms of one result; a form that is None does not exist for it.

    `people` returns texts and tables. A plain text is unwrapped; any other part but Prose is fitted to the width.
    `data` returns what becomes one JSON document, `lines` the objects of JSON lines. `markdown`, `junit` and the
    forms below it return the text of a file.
    """

    people: Callable[[], Iterable[RenderableType | Unwrapped | Prose]]
    data: Callable[[], Any] | None = None
    lines: Callable[[], Iterable[Mapping[str, Any]]] | None = None
    markdown: Callable[[], str] | None = None
    junit: Callable[[], str] | None = None
    sarif: Callable[[], str] | None = None
    benchmark: Callable[[], str] | None = None  # github-action-benchmark
    bencher: Callable[[], str] | None = None


FileForm = Literal["markdown", "junit", "sarif", "benchmark", "bencher"]
"""The forms of a result that are files."""


class Printer(Protocol):
    """The way in which a command's options want results."""

    @property
    def bars(self) -> Console | None:
        """The terminal on which bars may move, None if there is none."""

    def show(self, result: Renderings) -> None:
        """Print a result, or write it to a file."""

    def report(self, message: str, /, **event: Any) -> None:
        """Print that something happened on the way: people read `message` if it has any text, machines the event."""


@dataclass(frozen=True)
class PeoplePrinter:
    """Prints to a terminal or a pipe: texts and tables."""

    console: Console

    @property
    def bars(self) -> Console | None:
        """The console, if standard output is a terminal."""
        return self.console if sys.stdout.isatty() else None

    def show(self, result: Renderings) -> None:
        """Print every part."""
        for part in result.people():
            unwrapped = Unwrapped(part) if isinstance(part, str) else part
            if isinstance(unwrapped, Prose):
                text = Text(unwrapped.text, style=unwrapped.style or "")
                self.console.print(text, soft_wrap=not sys.stdout.isatty())
            elif isinstance(unwrapped, Unwrapped):
                self.console.print(unwrapped.part, style=unwrapped.style, soft_wrap=True)
            else:
                self.console.print(unwrapped)

    def report(self, message: str, /, **event: Any) -> None:
        """Print the text."""
        if message:
            self.console.print(message, soft_wrap=True)


@dataclass(frozen=True)
class MarkdownPrinter(PeoplePrinter):
    """Prints results as Markdown, and what happens on the way like PeoplePrinter."""

    def show(self, result: Renderings) -> None:
        """Print the Markdown of a result that has any."""
        if result.markdown is not None:
            sys.stdout.write(result.markdown())


class JsonPrinter:
    """Prints one JSON document for each result, and nothing of what happens on the way."""

    bars = None

    def show(self, result: Renderings) -> None:
        """Print the document."""
        if result.data is not None:
            sys.stdout.write(json.dumps(result.data(), indent=1, allow_nan=False) + "\n")

    def report(self, message: str, /, **event: Any) -> None:
        """Print nothing, so that standard output is one document."""


class JsonLinesPrinter:
    """Prints a JSON line for each event and for each line of a result, at once."""

    bars = None

    def show(self, result: Renderings) -> None:
        """Print the lines."""
        for line in () if result.lines is None else result.lines():
            self._write(line)

    def report(self, message: str, /, **event: Any) -> None:
        """Print the event, if there is one."""
        if event:
            self._write(event)

    def _write(self, line: Mapping[str, Any]) -> None:
        sys.stdout.write(json.dumps(line, allow_nan=False) + "\n")
        sys.stdout.flush()


class FilePrinter:
    """Writes one form of the results to a file, below each other; it is up to date after every result."""

    bars = None

    def __init__(self, file: Path, form: FileForm) -> None:
        self._file, self._form = file, form
        self._texts: list[str] = []

    def show(self, result: Renderings) -> None:
        """Write a result that has the form, below the results before it."""
        made: Callable[[], str] | None = getattr(result, self._form)
        if made is not None:
            self._texts.append(made())
            self._file.write_text("\n".join(self._texts), encoding="utf-8")

    def report(self, message: str, /, **event: Any) -> None:
        """Write nothing."""


class Printers:
    """Several printers as one, such as a terminal and a file for a pull request."""

    def __init__(self, printers: Sequence[Printer]) -> None:
        self._printers = printers

    @property
    def bars(self) -> Console | None:
        """The terminal of the first that has one."""
        return next((printer.bars for printer in self._printers if printer.bars is not None), None)

    def show(self, result: Renderings) -> None:
        """Hand a result to each."""
        for printer in self._printers:
            printer.show(result)

    def report(self, message: str, /, **event: Any) -> None:
        """Hand what happened to each."""
        for printer in self._printers:
            printer.report(message, **event)


def document_printer(*, as_json: bool) -> Printer:
    """Return the printer of a command whose `--json` is one document."""
    return JsonPrinter() if as_json else PeoplePrinter(output_console())


def lines_printer(*, as_json: bool, as_markdown: bool = False) -> Printer:
    """Return the printer of a command whose `--json` are lines, from its beginning to its result."""
    if as_json:
        return JsonLinesPrinter()
    return MarkdownPrinter(output_console()) if as_markdown else PeoplePrinter(output_console())
