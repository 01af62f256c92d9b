"""Contracts of import-linter that it does not come with: about light packages, and about the faces of packages.

pyproject.toml names them in `contract_types`. `lint-imports` reads them from there.
"""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output
from importlinter.domain.helpers import module_expressions_to_modules

from longlook.core.faces import shown_by


class StandardLibraryContract(Contract):
    """Modules import no third-party library except allowed ones.

    `source_modules` are packages, with everything below them. `root` is the project's own package, which is no library.
    `allowed` has the libraries that other contracts place. An import by another module of the project counts for that
    module alone.
    """

    type_name = "standard_library"

    source_modules = fields.SetField(subfield=fields.ModuleExpressionField())
    root = fields.StringField()
    allowed = fields.SetField(subfield=fields.StringField(), required=False, default=set())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Return whether no module below `source_modules` imports a library that is not allowed; grimp names them."""
        permitted = {str(self.root), "__future__", *sys.stdlib_module_names, *cast("set[str]", self.allowed)}
        sources = module_expressions_to_modules(graph, self.source_modules)  # type: ignore[arg-type]
        modules = {module.name for module in sources}
        modules |= {below for module in modules for below in graph.find_descendants(module)}
        found = [
            f"{module} imports {library} (l.{detail['line_number']})"
            for module in sorted(modules)
            for library in sorted(graph.find_modules_directly_imported_by(module))
            if library.split(".")[0] not in permitted
            for detail in graph.get_import_details(importer=module, imported=library)
        ]
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print one line for each import that is not allowed, and what to do about it."""
        for line in check.metadata["found"]:
            output.print_error(f"- {line}")
        output.print("These packages run in a guest or start one: use the standard library, or move the code up.")


class FacesContract(Contract):
    """Packages import of each other what their faces show.

    The packages are the ones directly below `containers`. A module of one is imported by modules of the same package,
    and by others if the package's face shows it as a whole.
    """

    type_name = "faces"

    containers = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Return whether no module is imported past the face of its package."""
        containers = cast("list[str]", self.containers)
        packages = [
            package for each in containers for package in graph.find_children(each) if package not in containers
        ]
        found = [line for package in sorted(packages) for line in self._past(graph, package)]
        return ContractCheck(kept=not found, metadata={"found": found})

    def _past(self, graph: ImportGraph, package: str) -> Iterator[str]:
        shown = {module for module, name in shown_by(_face_of(package), package).values() if not name}
        hidden = graph.find_descendants(package) - shown
        for module in sorted(hidden):
            for importer in sorted(graph.find_modules_that_directly_import(module)):
                if not f"{importer}.".startswith(f"{package}."):
                    for detail in graph.get_import_details(importer=importer, imported=module):
                        yield f"{importer} imports {module} (l.{detail['line_number']})"

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print one line for each import past a face, and what to do about it."""
        for line in check.metadata["found"]:
            output.print_error(f"- {line}")
        output.print("Import what the face of the package shows, or let it show the name: python -m scripts.faces")


def _face_of(package: str) -> Path:
    root, *rest = package.split(".")
    spec = find_spec(root)
    folder = Path(((spec.submodule_search_locations if spec else None) or [""])[0])
    return folder.joinpath(*rest, "__init__.py")
