"""Finds the unit tests that a change can make fail: tests that import a changed module, directly or by other modules.

A test file depends on every module of Longlook and of the tests that it imports, wherever in the file, and on all that
these import. Who imports a name by the face of a package depends on the module that defines it. Plug-ins are imported
by the registry: a module that asks the registry for a folder's plug-ins depends on all of them. A test also depends on
files that it names, such as a document whose table it compares. A package's data files belong to the package's own
tests.
"""

import ast
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from longlook.core.faces import shown_by
from longlook.core.registry import CONSTANTS

ROOT = Path(__file__).parents[1]
REGISTRY = "longlook.core.registry"
ASKING: Mapping[str, str | None] = {
    **dict.fromkeys(("load", "get", "place", "source", "load_only", "left_out", "CONSTANTS")),
    "stack": "stacks",
    "stacks": "stacks",
    "workload": "workloads",
    "workloads": "workloads",
}
"""Names of the registry that give plug-ins → their folder; None if the first argument is the folder."""
CORE = ("tests/unit/core", "tests/unit/study", "tests/unit/test_house.py")
"""The tests that run if nothing has changed: types, study files and the rules of the house."""


def changed_files(branch: str = "main", root: Path = ROOT) -> set[str]:
    """Return paths that differ from where this branch left `branch`, and files that git does not know yet.

    If there is no such branch, return paths that differ from the last commit.
    """
    found = subprocess.run(["git", "merge-base", branch, "HEAD"], cwd=root, capture_output=True, text=True, check=False)
    base = found.stdout.strip() if found.returncode == 0 else "HEAD"
    differing = _git(root, "diff", "--name-only", "--no-renames", base)
    return {*differing, *_git(root, "ls-files", "--others", "--exclude-standard")}


def affected_tests(changed: Iterable[str], root: Path = ROOT) -> list[str]:
    """Return the unit tests' files that depend on changed files, as paths below `root`, in alphabetical order."""
    chosen = set(changed)
    modules = {path for path in chosen if path.endswith(".py")}
    others = {path for path in chosen if path not in modules or path.startswith(("adapters/", "benches/"))}
    others |= {path for path in modules if not (root / path).exists()}
    for folder in CONSTANTS:
        if any(path.startswith(f"src/longlook/{folder}/") for path in others):
            modules.add(f"src/longlook/{folder}/__init__.py")  # a plug-in that is gone was beside it
    concerned = {root / path for path in modules}
    return sorted(
        test.relative_to(root).as_posix()
        for test in (root / "tests" / "unit").rglob("test_*.py")
        if not concerned.isdisjoint(dependencies(test, root)) or any(_concerns(other, test, root) for other in others)
    )


@cache
def dependencies(file: Path, root: Path) -> frozenset[Path]:
    """Return a Python file, every file of the project that it imports, directly or by others, and its conftest files.

    Imports of a conftest file are left out: it would make every test depend on studies and on all that these need.
    """
    found = {path for folder in file.parents if (path := folder / "conftest.py").is_file()}
    waiting = [file]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting.extend(_imported(current, root))
    return frozenset(found)


def _asked_for(file: Path, root: Path) -> frozenset[str]:
    """Return the folders of plug-ins that a file asks the registry for: all of them if the text does not say which."""
    imported = {name.removeprefix(f"{REGISTRY}.") for name in _names(file, root) if name.startswith(REGISTRY)}
    if not imported:
        return frozenset()
    uses: list[tuple[str, str | None]] = []
    read = set()
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.Call) and (name := _of_registry(node.func, imported)):
            first = node.args[0] if node.args else None
            uses.append((name, str(first.value) if isinstance(first, ast.Constant) else None))
            read.add(node.func)
        elif isinstance(node, ast.expr) and node not in read and (name := _of_registry(node, imported)):
            uses.append((name, None))
    asked = [ASKING[name] or folder for name, folder in uses]
    return frozenset(folder for folder in CONSTANTS if folder in asked or None in asked)


def _of_registry(node: ast.expr, imported: Collection[str]) -> str:
    """Return which name of ASKING this is, `registry.NAME` or one that the file imports; empty if it is none."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "registry":
        return node.attr if node.attr in ASKING else ""
    return node.id if isinstance(node, ast.Name) and node.id in ASKING and node.id in imported else ""


@cache
def _tree(file: Path) -> ast.Module:
    try:
        return ast.parse(file.read_text(encoding="utf-8"))
    except SyntaxError:
        return ast.Module([], [])  # the linter reports it


@cache
def _imported(file: Path, root: Path) -> frozenset[Path]:
    if _is_face(file, root):
        return frozenset()
    found: set[Path] = set()
    for name in _names(file, root):
        parts = name.split(".")
        # a.b.c may be a module, or a name in a.b: and importing a module runs the packages above it
        for end in range(len(parts), 0, -1):
            path = root.joinpath(*(("src",) if parts[0] == "longlook" else ()), *parts[:end])
            found.update(each for each in (path.with_suffix(".py"), path / "__init__.py") if each.is_file())
    for folder in _asked_for(file, root):
        found.update((root / "src" / "longlook" / folder).glob("*.py"))
    return frozenset(found - {file})


def _names(file: Path, root: Path) -> Iterator[str]:
    """Dotted names of everything that a file imports, wherever in it, from Longlook, the tests and the scripts."""
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = file.relative_to(root).parts[: -node.level] if node.level else ()
            module = ".".join((*above, *filter(None, [node.module])))
            modules = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in modules:
            if name.split(".")[0] in ("longlook", "tests", "scripts"):
                yield _defined(name, root)


def _defined(name: str, root: Path) -> str:
    """Return a dotted name as that of the module that defines it, if a face shows it."""
    parts = name.split(".")
    for end in range(2, len(parts)):
        shown = _shown(".".join(parts[:end]), root)
        if parts[end] in shown:
            return ".".join(filter(None, (*shown[parts[end]], *parts[end + 1 :])))
    return name


@cache
def _shown(package: str, root: Path) -> dict[str, tuple[str, str]]:
    return shown_by(root.joinpath("src", *package.split("."), "__init__.py"), package)


def _is_face(file: Path, root: Path) -> bool:
    """Whether a file is the face of a package: it loads a module when a name of that is imported, and not before."""
    source = root / "src"
    package = ".".join(file.parent.relative_to(source).parts) if file.is_relative_to(source) else ""
    return file.name == "__init__.py" and bool(_shown(package, root))


def _concerns(path: str, test: Path, root: Path) -> bool:
    """Whether a test names a file that is not Python, or is of the package that the file belongs to."""
    parts, place = Path(path).parts, test.relative_to(root).as_posix()
    if parts[:2] == ("src", "longlook") and parts[2] in place:
        return True
    if parts[0] == "adapters" and "adapters" in place:
        return True
    if "disputes" in parts and "claims" in place:
        return True
    if path.endswith(".md") and test.name == "test_documents.py":
        return True
    return parts[-1] in test.read_text(encoding="utf-8")


def core_tests(root: Path = ROOT) -> list[str]:
    """Return the tests that run if nothing has changed."""
    return [path for path in CORE if (root / path).exists()]


def _git(root: Path, *arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def main() -> None:
    """Print the tests that the changes of this checkout concern, one a line."""
    sys.stdout.write("".join(f"{test}\n" for test in affected_tests(changed_files()) or core_tests()))


if __name__ == "__main__":
    main()
