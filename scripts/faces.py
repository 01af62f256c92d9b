"""The faces of the packages: scripts/faces.toml lists which modules of a package other packages may import.

`lint-imports --config scripts/faces.toml` fails if a package imports a module of another one that is not listed, and if
a listed module is gone. The number of listed modules may only fall (scripts/ratchets.py); `make architecture` strikes
out those that no other package imports any more.
"""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

import grimp

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
