"""The way of a study through the code: which files one reads who follows the calls of `run_study`.

The walk reads the source alone. It begins at `run_study` in `pipeline/run.py`, enters each called
function of the project once, at its first call in the order of the text, and comes back from it. It knows what a call
enters if the name is defined in the same file or imported, if it is an attribute of an imported module, if it is a
method called by `self`, or if it is a class (its `__init__` or `__post_init__`); any other call is passed over.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

START = ("longlook.pipeline.run", "run_study")
LONGEST = 400
"""Events, entries of functions and returns from them, after which a reader has given up."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class _Source:
    name: str
    file: Path
    modules: Mapping[str, Path]

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.file.read_text())

    @cached_property
    def definitions(self) -> dict[str, ast.AST]:
        """Functions and classes by their qualified names, as `Class.method` or `function.inner`."""
        found: dict[str, ast.AST] = {}

        def visit(node: ast.AST, above: str) -> None:
            for child in ast.iter_child_nodes(node):
                name = above
                if isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
                    name = f"{above}{child.name}"
                    found[name] = child
                    name += "."
                visit(child, name)

        visit(self.tree, "")
        return found

    @cached_property
    def imports(self) -> dict[str, tuple[str, str]]:
        """Local names of what the file imports from the project: the module, and a name in it or an empty one."""
        found = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                for alias in node.names:
                    below = f"{node.module}.{alias.name}"
                    target = (below, "") if below in self.modules else (node.module, alias.name)
                    if target[0] in self.modules:
                        found[alias.asname or alias.name] = target
        return found


@dataclass
class _Walker:
    modules: Mapping[str, Path]
    events: int = 0
    entered: set[tuple[str, str]] = field(default_factory=set)
    sources: dict[str, _Source] = field(default_factory=dict)
    visited: set[str] = field(default_factory=set)

    def source(self, module: str) -> _Source:
        if module not in self.sources:
            self.sources[module] = _Source(module, self.modules[module], self.modules)
        return self.sources[module]

    def enter(self, module: str, name: str) -> None:
        """Read a function and what it calls, unless it was read or the walk is over."""
        if (module, name) in self.entered or self.events >= LONGEST:
            return
        self.entered.add((module, name))
        self.visited.add(module)
        self.events += 1
        source = self.source(module)
        for call in _calls(source.definitions[name]):
            target = self.target(source, name, call.func)
            if target is not None and target not in self.entered and self.events < LONGEST:
                self.enter(*target)
                self.events += 1

    def target(self, source: _Source, caller: str, called: ast.expr) -> tuple[str, str] | None:
        """Return the module and the qualified name of the function that a call enters; None if it is not known."""
        if isinstance(called, ast.Name):
            inner = [f"{caller.rsplit('.', depth)[0]}.{called.id}" for depth in range(3)]
            for name in (*inner, called.id):
                if name in source.definitions:
                    return self.function(source.name, name)
            return self.imported(*source.imports.get(called.id, ("", "")))
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            if called.value.id == "self":
                return self.function(source.name, f"{caller.rsplit('.', 1)[0]}.{called.attr}")
            module, name = source.imports.get(called.value.id, ("", ""))
            return self.imported(module, f"{name}.{called.attr}" if name else called.attr)
        return None

    def imported(self, module: str, name: str) -> tuple[str, str] | None:
        """Follow a name to where it is defined: a package's `__init__` may have it from another module."""
        for _ in range(len(self.modules)):
            if not module or module not in self.modules or not name:
                return None
            source = self.source(module)
            if name.split(".", maxsplit=1)[0] in source.definitions:
                return self.function(module, name)
            first, _, rest = name.partition(".")
            module, name = source.imports.get(first, ("", ""))
            name = ".".join(filter(None, (name, rest)))
        return None

    def function(self, module: str, name: str) -> tuple[str, str] | None:
        definitions = self.source(module).definitions
        if isinstance(definitions.get(name), ast.ClassDef):
            name = next(
                (f"{name}.{one}" for one in ("__init__", "__post_init__") if f"{name}.{one}" in definitions), ""
            )
        return (module, name) if isinstance(definitions.get(name), _FUNCTIONS) else None


def _calls(function: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls of a function in the order of the text, without those of functions that it defines."""
    for child in ast.iter_child_nodes(function):
        if isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
            continue
        if isinstance(child, ast.Call):
            yield child
        yield from _calls(child)


def visited_modules(source: Path, start: tuple[str, str] = START) -> set[str]:
    """Return the modules that a walk visits through the package in the folder `source`."""
    modules = {}
    for file in sorted(source.rglob("*.py")):
        parts = [source.name, *file.relative_to(source).with_suffix("").parts]
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    walker = _Walker(modules)
    walker.enter(*start)
    return walker.visited
