"""Rules of the house: no file grows beyond what one reads in one go, and words are those of the field."""

import ast
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "longlook"
LONGEST_FILE = 600
KINDS = ("*.py", "*.rs", "*.go", "*.js", "*.css")
COMMENT = re.compile("<!--.*?-->", re.S)
"""A comment of a document, which may have names of a study in it."""
FOLDERS = ("src", "tests", "adapters", "crates", "benches", "scripts")


def test_no_file_is_too_long_to_read() -> None:
    patterns = [f":(glob){folder}/**/{kind}" for folder in FOLDERS for kind in KINDS]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in listed(*patterns)}
    assert {"src/longlook/core/model.py", "tests/unit/test_house.py"} <= lengths.keys()
    long = {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE}
    assert not long, f"split these by what they do: {long}"


def test_snapshots_lie_beside_their_tests() -> None:
    files = listed(":(glob)tests/**/*.ambr")
    assert [file for file in files if not (file.parents[1] / f"{file.stem}.py").is_file()] == []


def listed(*patterns: str) -> list[Path]:
    """Files of the checkout that git knows or would take."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def test_words_are_those_of_the_field() -> None:
    """In code too, where Vale, which has the list, reads docstrings alone."""
    patterns = [
        f":(glob){folder}/**/*.{kind}"
        for folder in ("src", "adapters", "crates")
        for kind in ("py", "rs", "go", "md", "j2")
    ]
    rule = (ROOT / "style" / "Longlook" / "PrivateWords.yml").read_text()
    private = re.findall(r"^  - (.+)$", rule, re.M)
    assert "contestants?" in private
    words = re.compile(rf"\b({'|'.join(private)})\b", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}"
        for path in [*listed(*patterns, ":(glob)docs/**/*.md", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
        for number, line in enumerate(
            COMMENT.sub(lambda each: "\n" * each[0].count("\n"), path.read_text()).split("\n"), 1
        )
        if (match := words.search(line)) and '"contestant" if name == "setup"' not in line
    ]
    assert not found


READERS = (
    *("analysis", "causes", "explain", "metrics", "pipeline", "report", "run", "timeline"),
    *("instruments/atlas", "instruments/infer"),
)
"""Packages that read run folders, which may be strangers'."""
OWN_FILES = {
    "instruments/infer/sources.py": "a trace as just decoded",
    "report/templates.py": "files of the package",
    "run/host_facts.py": "files of the kernel",
    "timeline/decode.py": "a trace as just decoded",
    "timeline/export/__init__.py": "checked by metadata_of, or what was just written",
    "timeline/normalise/event_tables.py": "a trace as just decoded",
    "timeline/normalise/traces.py": "a trace as just decoded",
}
"""Modules that also open files that nobody else made, and which."""
TABLE_READERS = {"read_table", "read_parquet", "ParquetFile", "read_metadata", "read_schema", "memmap"}


def opens_by_itself(call: ast.Call) -> bool:
    """Whether a call reads a file by its path without a look at what is there."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    of_files = isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") == "files"
    first = call.args[0] if call.args else None
    if name in TABLE_READERS:
        return not (isinstance(first, ast.Call) and ast.unparse(first.func) == "files.regular") and (
            ast.unparse(first) != "file" if first is not None else True
        )
    if name in ("read_text", "read_bytes"):
        return not of_files
    return name == "open" and not call.keywords and isinstance(first, ast.Constant) and str(first.value).startswith("r")


def test_files_of_runs_are_opened_in_one_place() -> None:
    """By `core.files`, which follows no link, waits for nothing, and bounds what it reads."""
    found = {
        str(file.relative_to(PACKAGE))
        for package in READERS
        for file in (PACKAGE / package).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and opens_by_itself(node)
    }
    assert found - OWN_FILES.keys() == set()
    assert OWN_FILES.keys() - found == set(), "these need no exception"


CSV_CALLS = {"csv.writer", "to_csv", "CSVWriter", "DictWriter", "write_csv"}
CSV_WRITERS = {"core/escape.py": "writer", "report/csv_tables.py": "to_csv", "timeline/export/__init__.py": "CSVWriter"}
"""Modules that write CSV, and by what: the first is everybody's, the others write whole tables."""


def test_csv_is_written_where_its_cells_are_made_safe() -> None:
    """A text that a spreadsheet would run is none in any file: each of these makes cells of texts by `csv_cell`."""
    found = {
        str(file.relative_to(PACKAGE)): node.func.attr
        for file in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and (
            node.func.attr in ("to_csv", "CSVWriter", "DictWriter", "write_csv")
            or ast.unparse(node.func) == "csv.writer"
        )
    }
    assert found == CSV_WRITERS
    assert all("csv_cell" in (PACKAGE / module).read_text() for module in CSV_WRITERS)


def test_no_package_imports_a_private_name_of_another() -> None:
    private = []
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("longlook."):
                private += [f"{file.name}: {alias.name}" for alias in node.names if alias.name.startswith("_")]
    assert not private
