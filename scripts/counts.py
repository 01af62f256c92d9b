"""The counts of the checkout: numbers that show how hard it is to find one's way, and that may only fall.

Each function below is a count. Its docstring defines it, and the first line stands in the table of `make architecture`.
Files count as they are in the checkout now, whether git knows them or not.
"""

import ast
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from scripts import bound_numbers, prose
from scripts.architecture import read_packages
from scripts.reference import is_generated
from scripts.study_walk import visited_modules

PLUGINS = ("stacks", "workloads", "metrics", "causes")
INSTRUMENTS = ("instruments",)
SHORT = 60
LONG_PAGE_WORDS = 3_500
TABLE, TABLE_SECTION = "cpu_work", "report/cpu"
"""An output of a run, and the folder that draws it."""
CLOCKS = {"sleep", "time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"}


@dataclass(frozen=True)
class PythonFile:
    """A Python file, its place below the folder that was read, its text and its syntax."""

    place: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax of the file."""
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the syntax, outer ones first."""
        return list(ast.walk(self.tree))

    @property
    def lines(self) -> int:
        """Lines of the file, empty ones too."""
        return self.text.count("\n")

    @property
    def package(self) -> str:
        """The folder below the folder that was read; empty for a file directly in the latter."""
        return self.place.parts[0] if len(self.place.parts) > 1 else ""


@dataclass(frozen=True)
class Checkout:
    """The input of counts: the checkout's folder, and the Python files of its parts, each read once."""

    root: Path

    @property
    def package(self) -> Path:
        """The folder of the package."""
        return self.root / "src" / "longlook"

    @cached_property
    def source(self) -> list[PythonFile]:
        """The files below src/longlook, in alphabetical order."""
        return _python(self.package)

    @cached_property
    def tests(self) -> list[PythonFile]:
        """The files below tests, in alphabetical order."""
        return _python(self.root / "tests")


@dataclass(frozen=True)
class Count:
    """A number of the checkout: `target` is what it is to reach, None if any fall is welcome.

    One that is not `held` is shown, and may rise: nobody leaves a test or an entry of the change log out for a number.
    """

    name: str
    target: int | None
    held: bool
    measure: Callable[[Checkout], int]

    @property
    def definition(self) -> str:
        """The first line of the docstring."""
        return (self.measure.__doc__ or "").splitlines()[0]


COUNTS: list[Count] = []


def _count(
    target: int | None, *, held: bool = True
) -> Callable[[Callable[[Checkout], int]], Callable[[Checkout], int]]:
    def register(measure: Callable[[Checkout], int]) -> Callable[[Checkout], int]:
        COUNTS.append(Count(measure.__name__, target, held, measure))
        return measure

    return register


def _python(folder: Path) -> list[PythonFile]:
    return [PythonFile(file.relative_to(folder), file.read_text()) for file in sorted(folder.rglob("*.py"))]


@_count(71_000)
def source_lines(checkout: Checkout) -> int:
    """Lines of Python files below src/longlook, empty ones and comments too."""
    return sum(file.lines for file in checkout.source)


@_count(450)
def source_files(checkout: Checkout) -> int:
    """Python files below src/longlook."""
    return len(checkout.source)


@_count(49_000)
def spine_lines(checkout: Checkout) -> int:
    """Lines of Python below src/longlook outside of plug-ins and instruments.

    Plug-ins are the packages PLUGINS, instruments the packages INSTRUMENTS. Code that belongs to an instrument and lies
    in another package, such as its command or its page, counts here until it is moved.
    """
    return sum(file.lines for file in checkout.source if file.package not in (*PLUGINS, *INSTRUMENTS))


@_count(14_900)
def instrument_lines(checkout: Checkout) -> int:
    """Lines of Python in the packages of instruments.

    The target is for instruments with their commands and pages. Until these are moved here the number is below it.
    """
    return sum(file.lines for file in checkout.source if file.package in INSTRUMENTS)


@_count(7_100)
def plugin_lines(checkout: Checkout) -> int:
    """Lines of Python in the packages of plug-ins: stacks, workloads, metrics, causes."""
    return sum(file.lines for file in checkout.source if file.package in PLUGINS)


@_count(70)
def plugin_files(checkout: Checkout) -> int:
    """Python files in the packages of plug-ins, `__init__.py` too."""
    return sum(file.package in PLUGINS for file in checkout.source)


@_count(50)
def short_files(checkout: Checkout) -> int:
    """Python files below src/longlook with fewer than 60 lines, without plug-ins and `__init__.py`."""
    return sum(
        file.lines < SHORT and file.package not in PLUGINS and file.place.name != "__init__.py"
        for file in checkout.source
    )


@_count(80)
def package_arrows(checkout: Checkout) -> int:
    """Pairs of packages of which the first imports the second; docs/pictures/architecture.svg shows them."""
    return sum(len(package.imports) for package in read_packages(checkout.package).values())


@_count(350)
def names_across_borders(checkout: Checkout) -> int:
    """Different names that packages import from each other.

    A name is a pair of a module of another package and what is imported of it (`from longlook.core.model import Trial`,
    `from longlook.core import units`), or a module as a whole. How many modules import it does not matter.
    """
    return len({name for file in checkout.source for name in _imported_across(file)})


def _imported_across(file: PythonFile) -> Iterator[tuple[str, str]]:
    for node in file.nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("longlook."):
            if str(node.module).split(".")[1] != file.package:
                yield from ((str(node.module), alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "longlook":
            yield from (
                ("longlook", alias.name) for alias in node.names if alias.name not in (file.package, "__version__")
            )
        elif isinstance(node, ast.Import):
            parts = [alias.name.split(".") for alias in node.names]
            yield from ((".".join(each), "") for each in parts if each[0] == "longlook" and each[1:2] != [file.package])


@_count(20)
def modules_shown(checkout: Checkout) -> int:
    """Modules below a package that other packages import: as a whole by its face, or past it.

    `from longlook.core import codec` and `from longlook.lab.judge import MEASURED` each import one. A face that shows
    every name itself shows no module.
    """
    modules = {f"longlook.{'.'.join(file.place.with_suffix('').parts)}" for file in checkout.source}
    modules |= {module.removesuffix(".__init__") for module in modules}
    found = {
        f"{module}.{name}" if f"{module}.{name}" in modules else module
        for file in checkout.source
        for module, name in _imported_across(file)
    }
    return sum(module.count(".") > 1 for module in found)


@_count(12)
def homonyms(checkout: Checkout) -> int:
    """Names of public classes that two or more modules below src/longlook define, at the top of a file."""
    defined = Counter(
        node.name
        for file in checkout.source
        for node in file.tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return sum(number > 1 for number in defined.values())


@_count(28)
def study_walk_files(checkout: Checkout) -> int:
    """Files that one visits who follows the calls of `run_study` for 400 steps (scripts/study_walk.py)."""
    return len(visited_modules(checkout.package))


@_count(1)
def places_of_a_table(checkout: Checkout) -> int:
    """Lines below src/longlook that name the run's table cpu_work in code, outside of the section that draws it.

    A name is an identifier, an attribute, an argument, or a text that is `cpu_work` or begins with `cpu_work.`. The
    face of a package is left out, which names its module of that name.
    """
    return len(
        {
            (file.place, node.lineno)
            for file in checkout.source
            if not file.place.as_posix().startswith(f"{TABLE_SECTION}/") and file.place.name != "__init__.py"
            for node in file.nodes
            if isinstance(node, (ast.expr, ast.arg, ast.keyword)) and _names_table(node)
        }
    )


def _names_table(node: ast.AST) -> bool:
    named = [getattr(node, attribute, None) for attribute in ("id", "attr", "arg", "value")]
    return any(isinstance(name, str) and (name == TABLE or name.startswith(f"{TABLE}.")) for name in named)


@_count(40)
def chart_section_lines(checkout: Checkout) -> int:
    """Lines of the shortest file of report that calls `chart_section`: a new chart takes as many."""
    drawn = [file.lines for file in checkout.source if file.package == "report" and _draws_section(file)]
    return min(drawn, default=0)


def _draws_section(file: PythonFile) -> bool:
    called = (node.func for node in file.nodes if isinstance(node, ast.Call))
    return any(isinstance(name, ast.Name) and name.id == "chart_section" for name in called)


@_count(None)
def any_types(checkout: Checkout) -> int:
    """Uses of `Any` below src/longlook, without its imports."""
    return sum(isinstance(node, ast.Name) and node.id == "Any" for file in checkout.source for node in file.nodes)


@_count(None)
def suppressions(checkout: Checkout) -> int:
    """Comments `noqa`, `fmt: skip`, `fmt: off` and `type: ignore` below src/longlook."""
    pattern = re.compile(r"#\s*(noqa|fmt: (skip|off)|type: ignore)\b")
    return sum(
        bool(pattern.search(token.string))
        for file in checkout.source
        if pattern.search(file.text)
        for token in tokenize.generate_tokens(iter(file.text.splitlines(keepends=True)).__next__)
        if token.type == tokenize.COMMENT
    )


@_count(46_000, held=False)
def test_lines(checkout: Checkout) -> int:
    """Lines of Python files below tests."""
    return sum(file.lines for file in checkout.tests)


@_count(40)
def wording_asserts_per_1000(checkout: Checkout) -> int:
    """Of 1,000 asserts below tests, those that compare with a text of two words or more.

    A text is a literal or an f-string with a blank between two letters, on either side of `==` or `in`, or `not in`.
    """
    asserts = [node for file in checkout.tests for node in file.nodes if isinstance(node, ast.Assert)]
    return round(1_000 * sum(map(_compares_wording, asserts)) / max(1, len(asserts)))


def _compares_wording(check: ast.Assert) -> bool:
    sides = [
        side
        for node in ast.walk(check.test)
        if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
    ]
    texts = [part.value for side in sides for part in _literals(side)]
    return any(isinstance(text, str) and re.search(r"[^\W\d_] [^\W\d_]", text) for text in texts)


def _literals(side: ast.expr) -> Iterable[ast.Constant]:
    parts = side.values if isinstance(side, ast.JoinedStr) else [side]
    return (part for part in parts if isinstance(part, ast.Constant))


@_count(0)
def clocks_in_unit_tests(checkout: Checkout) -> int:
    """Calls below tests/unit that read the real clock or sleep: `time.sleep`, `time.monotonic` and their like."""
    return sum(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "time"
        and node.func.attr in CLOCKS
        for file in checkout.tests
        if file.package == "unit"
        for node in file.nodes
    )


@_count(8_000)
def study_lines(checkout: Checkout) -> int:
    """Lines of TOML files below src/longlook/studies."""
    return sum(file.read_text().count("\n") for file in (checkout.package / "studies").rglob("*.toml"))


@_count(100_000)
def words_of_documents(checkout: Checkout) -> int:
    """Words between blanks of Markdown below docs, in pages written by hand (a generated one says so at its top)."""
    return sum(len(page.split()) for page in _pages(checkout))


@_count(40)
def pages(checkout: Checkout) -> int:
    """Pages of Markdown below docs that are written by hand."""
    return len(_pages(checkout))


@_count(0)
def long_pages(checkout: Checkout) -> int:
    """Pages of Markdown below docs that are written by hand and have more than 3,500 words."""
    return sum(len(page.split()) > LONG_PAGE_WORDS for page in _pages(checkout))


@_count(None, held=False)
def generated_pages(checkout: Checkout) -> int:
    """Pages of Markdown below docs that a command makes as a whole."""
    return len(_pages(checkout, generated=True))


@_count(None, held=False)
def words_of_generated_pages(checkout: Checkout) -> int:
    """Words of the pages that a command makes as a whole."""
    return sum(len(page.split()) for page in _pages(checkout, generated=True))


def _pages(checkout: Checkout, *, generated: bool = False) -> list[str]:
    """Return the texts of pages without the comments that bind their numbers."""
    texts = [file.read_text() for file in sorted((checkout.root / "docs").rglob("*.md"))]
    return [bound_numbers.visible(text) for text in texts if is_generated(text) == generated]


@_count(None, held=False)
def bound_numbers_of_pages(checkout: Checkout) -> int:
    """Numbers of README, of docs/results and of other pages that `make lint` compares with an entry."""
    return sum(page.bound for page in _results(checkout))


@_count(0)
def unbound_numbers_of_results(checkout: Checkout) -> int:
    """Numbers in README and docs/results that look like results and are bound to no entry (scripts/bound_numbers.py).

    Some are no results of a run on record: a source's, a standard's, one of an explanation or of a log. The number
    may not rise, so that a new sentence has its place of an entry.
    """
    return sum(len(page.unbound) for page in _results(checkout) if page.is_result)


def _results(checkout: Checkout) -> list[bound_numbers.Page]:
    return [bound_numbers.read(path, checkout.root) for path in bound_numbers.pages(checkout.root)]


@_count(80, held=False)
def changelog_lines(checkout: Checkout) -> int:
    """Lines of CHANGELOG.md."""
    return (checkout.root / "CHANGELOG.md").read_text().count("\n")


@_count(0)
def style_of_documents(checkout: Checkout) -> int:
    """Warnings of Vale about README, ARCHITECTURE, CONTRIBUTING, CHANGELOG and docs: `python -m scripts.prose docs`."""
    return len(prose.documents(checkout.root))


@_count(0)
def style_of_docstrings(checkout: Checkout) -> int:
    """Warnings of Vale about docstrings below src: `python -m scripts.prose src`."""
    return len(prose.docstrings(checkout.root))
