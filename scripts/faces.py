"""The faces of the packages: scripts/faces.toml lists which modules of a package other packages may import.

`lint-imports --config scripts/faces.toml` fails if a package imports a module of another one that is not listed, and if
a listed module is gone. The number of listed modules may only fall (scripts/ratchets.py); `make architecture` strikes
out those that no other package imports any more.
"""

import ast
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from textwrap import wrap

import grimp

from longlook.core.faces import CALL

ROOT = Path(__file__).parents[1]
FACES = ROOT / "scripts" / "faces.toml"
PROJECT = "longlook"
_HEAD = f"""\
# Which modules of a package other packages may import; the package itself may always be imported.
# The list becomes shorter by `make architecture`, and longer by `python -m scripts.ratchets --renew` alone.
[tool.importlinter]
root_packages = ["{PROJECT}"]
"""
_CONTRACT = """
[[tool.importlinter.contracts]]
id = "{package}"
name = "Other packages import of {package} what its face shows"
type = "protected"
as_packages = false
protected_modules = ["{project}.{package}.**"]
allowed_importers = ["{project}.{package}", "{project}.{package}.**"]
ignore_imports = [
{lines}]
broken_contract_guidance = "Import what the package shows already, or move the name there."
"""
_IMPORT = '  "{project}.** -> {module}",'


def imported_by_others(project: str = PROJECT) -> dict[str, set[str]]:
    """Return for each package the full names of its modules that modules of another package import.

    The package itself (its `__init__.py`) is not among them. Imports inside functions count as any other. Every package
    with modules below it has an entry.
    """
    graph = grimp.build_graph(project, cache_dir=None)
    found: dict[str, set[str]] = {
        package.split(".")[1]: set() for package in graph.find_children(project) if graph.find_children(package)
    }
    for module in graph.modules:
        parts = module.split(".")
        if len(parts) > 2 and any(
            importer.split(".")[1:2] != parts[1:2] for importer in graph.find_modules_that_directly_import(module)
        ):
            found[parts[1]].add(module)
    return found


def listed(file: Path = FACES) -> dict[str, set[str]]:
    """Return for each package the full names of the modules that the file lists; none if there is no file."""
    if not file.is_file():
        return {}
    contracts = tomllib.loads(file.read_text())["tool"]["importlinter"]["contracts"]
    return {each["id"]: {line.split(" -> ")[1] for line in each["ignore_imports"]} for each in contracts}


def pruned(faces: Mapping[str, set[str]], used: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return every package of `used` with those of its listed modules that are still used."""
    return {package: modules & faces.get(package, set()) for package, modules in used.items()}


def text_of(faces: Mapping[str, Iterable[str]], project: str = PROJECT) -> str:
    """Return the file's text, packages and modules in alphabetical order."""
    contracts = []
    for package, modules in sorted(faces.items()):
        lines = "".join(f"{_IMPORT.format(project=project, module=module)}\n" for module in sorted(modules))
        contracts.append(_CONTRACT.format(project=project, package=package, lines=lines))
    return _HEAD + "".join(contracts)


def faces(root: Path = ROOT) -> dict[str, Path]:
    """Return the files of all faces by the full names of their packages."""
    source = root / "src"
    found = {}
    for file in sorted((source / PROJECT).rglob("__init__.py")):
        package = ".".join(file.parent.relative_to(source).parts)
        if CALL in file.read_text(encoding="utf-8"):
            found[package] = file
    return found


def imported_by(text: str, package: str, root: Path = ROOT) -> tuple[dict[str, list[str]], list[str]]:
    """Return what the text of a face imports for type checkers: the names of each module, and modules as a whole.

    Modules are named as seen from the package, as in the face's table.
    """
    names: dict[str, list[str]] = defaultdict(list)
    modules = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ImportFrom) or not f"{node.module}.".startswith(f"{package}."):
            continue
        module = str(node.module).removeprefix(package).removeprefix(".")
        folder = root.joinpath("src", *str(node.module).split("."))
        for alias in node.names:
            if (folder / f"{alias.name}.py").is_file() or (folder / alias.name / "__init__.py").is_file():
                modules.append(f"{module}.{alias.name}".removeprefix("."))
            else:
                names[module].append(alias.name)
    return {module: sorted(found) for module, found in sorted(names.items())}, sorted(modules)


def with_table(text: str, package: str, root: Path = ROOT) -> str:
    """Return the text of a package's face with the table that its imports for type checkers give."""
    names, modules = imported_by(text, package, root)
    lines = ["lazy(", "        __name__,", "        {"]
    for module, found in names.items():
        lines += _written(f'"{module}": ', " ".join(found), 12)
    lines.append("        }," if names else "")
    if not names:
        lines[-2:] = ["        {},"]
    if modules:
        lines += _written("", " ".join(modules), 8)
    call = next(
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and ast.unparse(node.func) == "lazy"
    )
    rows = text.splitlines()
    before, after = rows[: call.lineno], rows[call.end_lineno or 0 :]
    before[-1] = before[-1][: call.col_offset] + lines[0]
    return "\n".join([*before, *lines[1:], "    )", *after]) + "\n"


def _written(key: str, words: str, indent: int) -> list[str]:
    blanks = " " * indent
    if len(blanks + key + words) <= 117:  # and quotes and a comma
        return [f'{blanks}{key}"{words}",']
    fits = len(words) <= 102  # on a line of its own the formatter keeps one text
    parts = [words] if fits else wrap(words, 100, break_long_words=False, break_on_hyphens=False)
    quoted = [f'"{part} "' for part in parts[:-1]] + [f'"{parts[-1]}"']
    if not key:
        return [*(f"{blanks}{part}" for part in quoted[:-1]), f"{blanks}{quoted[-1]},"]
    return [f"{blanks}{key}(", *(f"{blanks}    {part}" for part in quoted), f"{blanks}),"]


def main() -> None:
    """Write the tables of all faces, from what they import for type checkers."""
    for package, file in faces().items():
        file.write_text(with_table(file.read_text(encoding="utf-8"), package), encoding="utf-8")


if __name__ == "__main__":
    main()
