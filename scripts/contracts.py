"""A contract of import-linter that it does not come with: packages that import the standard library and little else.

pyproject.toml names it in `contract_types`. `lint-imports` reads it from there.
"""

import sys
from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output
from importlinter.domain.helpers import module_expressions_to_modules


class StandardLibraryContract(Contract):
    """Modules import no third-party library but those that are allowed.

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
