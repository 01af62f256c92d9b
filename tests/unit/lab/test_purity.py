"""The modules that call themselves pure decide without touching the machine."""

import ast
from pathlib import Path

import pytest

import longlook
from longlook.core.faces import shown_by

SOURCES = Path(longlook.__file__).parent
PURE = (
    *("judge", "judge_lines", "judge_witness", "judge_settings", "vocabulary", "judge_knobs"),
    *("observations", "guard", "environment"),
)
EFFECTS = {"ctypes", "fcntl", "pyroute2", "socket", "subprocess"}


def imports_of(module: str, found: set[str]) -> set[str]:
    """Everything that a module imports, directly or through modules of ours."""
    path = SOURCES.joinpath(*module.split(".")[1:])
    file = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
    for node in ast.walk(ast.parse(file.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            shown = shown_by(SOURCES.joinpath(*node.module.split(".")[1:], "__init__.py"), node.module)
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            own = [name for name in inner if SOURCES.joinpath(*name.split(".")[1:]).with_suffix(".py").exists()]
            names = [node.module, *(own if node.module.startswith("longlook") else [])]
            if shown:
                names = [shown[alias.name][0] for alias in node.names if alias.name in shown] + own
        for name in names:
            if name not in found:
                found.add(name)
                if name.startswith("longlook."):
                    imports_of(name, found)
    return found


@pytest.mark.parametrize("name", PURE)
def test_a_pure_module_imports_nothing_that_acts_on_the_machine(name: str) -> None:
    source = (SOURCES / "lab" / f"{name}.py").read_text()
    assert "Pure" in (ast.get_docstring(ast.parse(source)) or "")
    found = imports_of(f"longlook.lab.{name}", set())
    assert not [module for module in found if module.startswith("longlook.lab.linux")]
    assert not found & EFFECTS


def test_a_module_with_effects_would_be_noticed() -> None:
    found = imports_of("longlook.lab.trial", set())
    assert "longlook.lab.linux.namespace" in found
    assert found & EFFECTS
