"""The faces of packages: writes the table of each from what it imports for type checkers (longlook.core.faces).

To show a name, add its import to the package's `__init__.py` and run `python -m scripts.faces`. `lint-imports` fails if
a package imports a module of another one that its face does not show as a whole.
"""

import ast
from collections import defaultdict
from pathlib import Path
from textwrap import wrap

from longlook.core.faces import CALL

ROOT = Path(__file__).parents[1]


def faces(root: Path = ROOT) -> dict[str, Path]:
    """Return the files of all faces by the full names of their packages."""
    source = root / "src"
    found = {}
    for file in sorted((source / "longlook").rglob("__init__.py")):
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
