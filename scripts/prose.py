"""The style of documents and docstrings, by Vale with the rules of style/Longlook.

    python -m scripts.prose [PLACE…]          print the warnings about paths that begin with a place, or about all
    python -m scripts.prose --check [PLACE…]  fail if there is a warning (`make lint`, for all)

Vale reads documents as they are. Docstrings it reads in copies of the Python files that have nothing else, each line at
its own number and without its indentation, so that rules about whole sentences hold for them too.
"""

import argparse
import ast
import inspect
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
VALE = ROOT / ".venv" / "bin" / "vale"
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs")
PYTHON = ("src",)
"""Files, and folders with all that is below them."""


@dataclass(frozen=True, order=True)
class Warned:
    """A place that a rule of the style objects to: the file below the checkout, its line, the rule, what to do."""

    path: str
    line: int
    rule: str
    message: str


@cache
def documents(root: Path = ROOT) -> tuple[Warned, ...]:
    """Return what Vale says about the documents, in their order."""
    files = [file.relative_to(root).as_posix() for file in _files(root, DOCUMENTS, "md")]
    return tuple(sorted(_vale(files, root)))


PROMPT = ">>> "
"""The begin of an example, which goes on until the next empty line."""


@cache
def docstrings(root: Path = ROOT) -> tuple[Warned, ...]:
    """Return what Vale says about the docstrings, in the order of the files."""
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for file in _files(root, PYTHON, "py"):
            name = file.relative_to(root).as_posix()
            copy = Path(folder) / f"{name}.md"
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(only_docstrings(file.read_text()))
            names.append(f"{name}.md")
        return tuple(sorted(_vale(names, Path(folder))))


def only_docstrings(text: str) -> str:
    """Return the docstrings of Python code, of attributes too, at their lines; all other lines are empty.

    Examples are code in them, as on a page: indented.
    """
    lines = [""] * (text.count("\n") + 1)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            example = False
            for number, line in enumerate(inspect.cleandoc(node.value.value).splitlines(), node.lineno - 1):
                example = bool(line) and (example or line.startswith(PROMPT))
                lines[number] = f"    {line}" if example else line
    return "\n".join(lines)


def _files(root: Path, places: Iterable[str], suffix: str) -> Iterator[Path]:
    for place in places:
        path = root / place
        yield from sorted(path.rglob(f"*.{suffix}")) if path.is_dir() else [path]


def _vale(files: list[str], folder: Path) -> Iterator[Warned]:
    """Yield what Vale says about files, by paths below a folder.

    Raises SystemExit if Vale is not built or does not understand its configuration.
    """
    if not VALE.is_file():
        sys.exit(f"{VALE} is missing: run `make {VALE.relative_to(ROOT)}`")
    command = [str(VALE), "--config", str(ROOT / "style" / "vale.ini"), "--output", "JSON", "--no-exit", *files]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"vale ended with code {done.returncode}: {done.stdout}{done.stderr}")
    for path, alerts in json.loads(done.stdout).items():
        for alert in alerts:
            yield Warned(
                path.removesuffix(".py.md") + ".py" if path.endswith(".py.md") else path,
                alert["Line"],
                alert["Check"].removeprefix("Longlook."),
                alert["Message"],
            )


def warnings(places: Sequence[str]) -> Iterator[Warned]:
    """Yield the warnings about paths that begin with one of `places`, or all if there are none; documents first.

    Vale reads only the kind of text, documents or docstrings, that the places are about.
    """
    for read, roots in ((documents, DOCUMENTS), (docstrings, PYTHON)):
        if not places or any(place.startswith(root) or root.startswith(place) for place in places for root in roots):
            yield from (each for each in read() if not places or each.path.startswith(tuple(places)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the warnings and how many each rule has; with `--check` raise SystemExit if there is one."""
    parser = argparse.ArgumentParser(description="The style of documents and docstrings.")
    parser.add_argument("places", nargs="*", metavar="PLACE", help="files or folders below the checkout; none: all")
    parser.add_argument("--check", action="store_true", help="fail if there is a warning")
    options = parser.parse_args(arguments)
    found = list(warnings(options.places))
    lines = [f"{each.path}:{each.line}: {each.message} ({each.rule})" for each in found]
    lines += [f"{count:6} {rule}" for rule, count in Counter(each.rule for each in found).most_common()]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    if options.check and found:
        sys.exit(f"{len(found)} warnings: write these sentences differently; the rules are in style/Longlook")


if __name__ == "__main__":
    main()
