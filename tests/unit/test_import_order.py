"""The architecture as a test: packages import in one order, and libraries live where they are at home.

ARCHITECTURE.md lists the packages in this order. A package imports only from packages before it, so there is no circle.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from longlook.core import registry

PACKAGE = Path(__file__).parents[2] / "src" / "longlook"

ORDER = (
    *("core", "network", "provision", "stacks", "workloads", "timeline", "metrics", "study", "lab", "engines", "run"),
    *("analysis", "explain", "causes", "calibration", "report", "pipeline", "linktool", "compare", "certification"),
    *("conformance", "cli"),
)
DATA = ("studies", "disputes")
"""Folders without code."""

LIBRARIES = {
    "pyroute2": {"lab/linux", "calibration"},
    "cryptography": {"provision"},
    "pydantic": {"study", "analysis/claims"},
    "scipy": {"analysis/stats", "explain", "calibration", "timeline"},
    "statsmodels": {"analysis/stats"},
    "altair": {"report"},
    "vl_convert": {"report"},
    "jinja2": {"report"},
    "markupsafe": {"report"},
    "graphlay": {"report"},
    "typer": {"cli"},
    "click": {"cli"},
    "rich": {"cli"},
    "dns": set(),
    "websockets": set(),
}
"""Where a library may be imported, folders of the package. A library that is not listed may be imported anywhere but in
the packages that are light."""

LIGHT = {"core", "network", "stacks", "workloads", "lab", "engines"}
"""What runs in a guest or starts one: the standard library, our own code, and what LIBRARIES allows."""

FILES = sorted(PACKAGE.rglob("*.py"))


def ids(file: Path) -> str:
    return str(file.relative_to(PACKAGE))


def imports_of(file: Path) -> Iterator[tuple[str, ...]]:
    """Names of all modules that a file imports, wherever in it, as tuples."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import"
            module = tuple(str(node.module).split("."))
            yield from ((*module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)


def test_every_folder_has_its_place() -> None:
    folders = {path.relative_to(PACKAGE).parts[0] for kind in ("*.py", "*.toml") for path in PACKAGE.rglob(kind)}
    folders -= {"__init__.py", "__main__.py"}
    assert folders == {*ORDER, *DATA}
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}


@pytest.mark.parametrize("file", [file for file in FILES if file.parent != PACKAGE], ids=ids)
def test_imports_point_back_in_the_order(file: Path) -> None:
    own = file.relative_to(PACKAGE).parts[0]
    targets = {names[1] for names in imports_of(file) if names[0] == "longlook" and names[1:]} - {"__version__"}
    assert targets <= set(ORDER[: ORDER.index(own) + 1])


@pytest.mark.parametrize("file", FILES, ids=ids)
def test_libraries_live_where_they_are_at_home(file: Path) -> None:
    place = file.relative_to(PACKAGE).parent.as_posix()
    used = {names[0] for names in imports_of(file)} - set(sys.stdlib_module_names) - {"longlook"}
    for library in used:
        homes = LIBRARIES.get(library)
        if homes is not None:
            assert any(place == home or place.startswith(f"{home}/") for home in homes), f"{library} in {place}"
        else:
            assert place.split("/")[0] not in LIGHT, f"{library} in {place}, which is light"


def test_every_plugin_file_is_registered() -> None:
    for folder in registry.CONSTANTS:
        files = [file for file in (PACKAGE / folder).glob("*.py") if not file.name.startswith("_")]
        assert files, folder
        assert {registry.source(folder, name) for name in registry.load(folder)} >= set(files)
