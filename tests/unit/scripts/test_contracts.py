"""The rules of imports in pyproject.toml: each is broken once, in a copy, and reported."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CONFIGURATION = ("pyproject.toml", "scripts/contracts.py")
RULES = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
RULE_OF_FACES = next(rule["name"] for rule in RULES if rule["id"] == "faces")
BROKEN = {
    "order": ("core/units.py", "from longlook.cli import app"),
    "faces": ("report/text.py", "from longlook.analysis.stats import estimate"),
    "instruments": ("instruments/link/run.py", "from longlook.instruments.calibrate import run"),
    "light": ("lab/trial.py", "import numpy.linalg"),
    "pyroute2": ("lab/trial.py", "from pyroute2 import IPRoute"),
    "cryptography": ("analysis/measure.py", "import cryptography.x509"),
    "pydantic": ("analysis/measure.py", "import pydantic"),
    "scipy": ("analysis/measure.py", "def late() -> None:\n    from scipy import stats"),
    "statsmodels": ("report/text.py", "import statsmodels.api"),
    "altair": ("cli/commands.py", "import jinja2"),
    "click": ("report/text.py", "import typer"),
    "dask": ("cli/run.py", "import distributed"),
    "nowhere": ("cli/commands.py", "import websockets"),
}
"""For each rule a file of the package, and a line that breaks the rule when it is added."""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A checkout with the package and what the rules are read from, and nothing else."""
    shutil.copytree(ROOT / "src" / "longlook", tmp_path / "longlook", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "scripts").mkdir()
    for name in CONFIGURATION:
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def outcome(checkout: Path) -> tuple[dict[str, str], str]:
    """Return KEPT or BROKEN for each rule, by the rule's name, and all that was printed."""
    command = [Path(sys.executable).parent / "lint-imports", "--no-logo", "--no-cache", checkout / "pyproject.toml"]
    environment = {"COLUMNS": "1000", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    found = dict(re.findall(r"^(.+?) (KEPT|BROKEN)\b", done.stdout, re.M))
    assert (done.returncode == 0) == (set(found.values()) == {"KEPT"}), done.stdout + done.stderr
    return found, done.stdout


def add(checkout: Path, file: str, line: str) -> None:
    path = checkout / "longlook" / file
    path.write_text(f"{path.read_text()}\n{line}\n" if path.is_file() else f"{line}\n")


def test_every_rule_is_broken_by_an_import_against_it(copy: Path) -> None:
    assert BROKEN.keys() == {rule["id"] for rule in RULES}
    for file, line in BROKEN.values():
        assert (copy / "longlook" / file).is_file(), file
        add(copy, file, line)
    found, printed = outcome(copy)
    assert found == {rule["name"]: "BROKEN" for rule in RULES}
    assert "longlook.lab.trial imports numpy" in printed
    assert "longlook.lab.trial imports pyroute2" not in printed  # another rule's


def test_a_package_without_a_place_in_the_order_is_reported(copy: Path) -> None:
    (copy / "longlook" / "extra").mkdir()
    add(copy, "extra/__init__.py", '"""A package that the order does not have."""')
    found, printed = outcome(copy)
    assert [name for name, state in found.items() if state == "BROKEN"] == [RULES[0]["name"]]
    assert "extra" in printed


def test_a_module_is_imported_past_its_face_by_its_own_package_alone(copy: Path) -> None:
    add(copy, "analysis/claims/user.py", "from longlook.analysis.stats import estimate")
    add(copy, "report/text.py", "from longlook.core import codec\nfrom longlook.analysis import estimate")
    found, _ = outcome(copy)
    assert set(found.values()) == {"KEPT"}
    add(copy, "report/text.py", "\n\ndef late():\n    from longlook.analysis.stats import estimate")
    found, printed = outcome(copy)
    assert [name for name, state in found.items() if state == "BROKEN"] == [RULE_OF_FACES]
    assert "longlook.report.text imports longlook.analysis.stats (l." in printed
