"""Rust modules use each other in one direction, and those of link-core in the order in which its lib.rs lists them."""

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CRATES = Path(__file__).parents[2] / "crates"
LIBRARIES = sorted(crate.name for crate in CRATES.iterdir() if (crate / "src" / "lib.rs").exists())

_COMMENT = re.compile(r"//[^\n]*")
_TESTS = re.compile(r"#\[cfg\(test\)\](?:\s*#\[[^\n]*\])*\s*mod tests \{.*", re.DOTALL)
_USE = re.compile(r"\b(?P<shown>pub use|use)\s+(?P<path>[^;]+);")
_PATH = re.compile(r"\b(?:crate|super)(?:::\w+)+")
_LAYER = re.compile(r"^//! - `(\w+)`: ", re.MULTILINE)

Module = tuple[str, ...]


def modules_of(source: Path) -> dict[Module, str]:
    """Return the code of each module of a crate, without comments and tests; lib.rs is the module ()."""
    found = {}
    for file in sorted(source.rglob("*.rs")):
        parts = file.relative_to(source).with_suffix("").parts
        name = parts[:-1] if parts[-1] in ("mod", "lib") else parts
        found[name] = _TESTS.sub("", _COMMENT.sub("", file.read_text()))
    return found


def spelt_out(path: str) -> Iterator[str]:
    """Yield the paths that a `use` with braces stands for."""
    path = path.strip()
    if "{" not in path:
        yield path.split(" as ")[0].strip()
        return
    head, inside = path[: path.index("{")], path[path.index("{") + 1 : path.rindex("}")]
    depth, start = 0, 0
    for index, character in enumerate(f"{inside},"):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            if inside[start:index].strip():
                yield from spelt_out(head + inside[start:index].strip())
            start = index + 1


def used_by(name: Module, code: str, modules: dict[Module, str]) -> set[Module]:
    """Return the modules of the same crate that a module uses; to show a child's names (`pub use`) is not to use it."""
    paths = [path for use in _USE.finditer(code) if use["shown"] == "use" for path in spelt_out(use["path"])]
    paths += _PATH.findall(_USE.sub("", code))
    found = set()
    for path in paths:
        first, *rest = path.split("::")
        if first == "crate":
            target = tuple(rest)
        elif first == "super":
            target = (*name[:-1], *rest)
        elif (*name, first) in modules:
            target = (*name, first, *rest)
        else:
            continue
        while target not in modules:
            target = target[:-1]
        found.add(target)
    return found - {name}


def graph_of(crate: str) -> dict[Module, set[Module]]:
    modules = modules_of(CRATES / crate / "src")
    return {name: used_by(name, code, modules) for name, code in modules.items()}


@pytest.mark.parametrize("crate", LIBRARIES)
def test_modules_form_no_circle(crate: str) -> None:
    try:
        TopologicalSorter(graph_of(crate)).prepare()
    except CycleError as error:
        pytest.fail(" → ".join("::".join(name) or "lib" for name in error.args[1]))


def test_link_core_uses_only_modules_that_its_list_puts_before() -> None:
    graph = graph_of("link-core")
    layers = _LAYER.findall((CRATES / "link-core" / "src" / "lib.rs").read_text())
    assert sorted(layers) == sorted({name[0] for name in graph if name})
    wrong = [
        f"{'::'.join(name)} uses {'::'.join(target) or 'lib'}"
        for name, used in graph.items()
        for target in used
        if name and (not target or layers.index(target[0]) > layers.index(name[0]))
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("use crate::b::Thing;", {("b",)}),
        ("use crate::{b::{self, Thing}, c};", {("b",), ("c",)}),
        ("fn f() { super::c::go() }", {("c",)}),
        ("use crate::Thing;", {()}),
        ("use std::b::Thing;", set()),
        ("pub use b::Thing;", set()),
    ],
)
def test_a_use_is_found_however_it_is_written(code: str, expected: set[Module]) -> None:
    assert used_by(("a",), code, {(): "", ("a",): code, ("b",): "", ("c",): ""}) == expected
