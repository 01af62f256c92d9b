"""The faces of packages: which of its modules' names a package shows to others, each loaded when it is asked for.

The face of a package is its `__init__.py`. It imports what it shows for type checkers alone, and has the same as a
table for Python. An import of the package loads nothing, and an import of a name loads the one module that defines it.
Digests of code and the tools in `scripts` resolve names by the same table (`shown_by`). So code that imports one name
of a package depends on the module of that name, and not on all that the package shows.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

CALL = "__getattr__ = lazy("
"""How the table of a face begins in its file."""


def lazy(package: str, names: Mapping[str, str], modules: str = "") -> tuple[list[str], Callable[[str], Any]]:
    """Return `__all__` and `__getattr__` of a package's face, and tell `dir` what it shows.

    `names` has for each module, as seen from the package, the names that it defines, between blanks; `modules` are
    modules that are shown as a whole. Nothing is kept: a name is looked up in its module each time that it is imported.
    """
    shown = resolved(package, names, modules)

    def load(name: str) -> Any:
        if name not in shown:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = shown[name]
        loaded = import_module(module)
        return getattr(loaded, attribute) if attribute else loaded

    face = vars(sys.modules[package])
    face["__dir__"] = lambda: sorted({*face, *shown})
    return sorted(shown), load


def resolved(package: str, names: Mapping[str, str], modules: str = "") -> dict[str, tuple[str, str]]:
    """Return for each name of a face the full name of a module, and the name in it: none if it is the module itself."""
    shown = {name: (f"{package}.{module}", name) for module, defined in names.items() for name in defined.split()}
    return shown | {module.rpartition(".")[2]: (f"{package}.{module}", "") for module in modules.split()}


def shown_by(file: Path, package: str) -> dict[str, tuple[str, str]]:
    """Return what the face in a package's `__init__.py` shows, as `resolved` does; empty if the file has no face."""
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    if CALL not in text:
        return {}
    import ast  # guests read no faces, and it takes long to load

    calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    call = next(call for call in calls if ast.unparse(call.func) == "lazy")
    return resolved(package, *map(ast.literal_eval, call.args[1:]))
