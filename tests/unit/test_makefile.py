"""What `make` brings up to date: an old installation is noticed, and stale bytecode does no harm."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def planned(target: str, *changed: str) -> str:
    """Return what `make` would run for a target if these files had just changed."""
    command = ["make", "--dry-run", "--no-print-directory"]
    for name in changed:
        assert (ROOT / name).is_file(), name
        command += ["--what-if", name]
    return subprocess.run([*command, target], cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("changed", ["pyproject.toml", "longlook.data/scripts/longlook", "crates/link/src/lib.rs"])
def test_a_changed_entry_point_or_program_is_installed_again(changed: str) -> None:
    assert "--reinstall --editable" in planned("build", changed)


@pytest.mark.parametrize("changed", ["requirements.lock", "scripts/bootstrap"])
def test_a_changed_lock_is_installed_again(changed: str) -> None:
    assert "scripts/bootstrap" in planned("build", changed)


def test_the_makefile_keeps_bytecode_whatever_the_caller_exports() -> None:
    recipe = "probe:\n\t@echo [$$PYTHONDONTWRITEBYTECODE]"
    done = subprocess.run(
        ["make", "--no-print-directory", "-f", "Makefile", "-f", "-", "probe"],
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        input=recipe,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_bytecode_of_removed_modules_changes_nothing(tmp_path: Path) -> None:
    """What `git pull` leaves of modules that have moved: folders and compiled files without their sources."""
    package = tmp_path / "longlook"
    shutil.copytree(ROOT / "src" / "longlook", package, ignore=shutil.ignore_patterns("__pycache__"))
    script = (
        "from longlook.core import digests, registry; import longlook.cli;"
        "print(digests.code_digest('longlook.lab', 'longlook.analysis'));"
        "print(*map(sorted, map(registry.load, registry.CONSTANTS)))"
    )

    def answer() -> str:
        command = [sys.executable, "-c", script]
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    before = answer()
    for folder in (package, package / "moved", package / "lab", package / "stacks"):
        compiled = folder / "__pycache__"
        compiled.mkdir(parents=True, exist_ok=True)
        (compiled / f"removed.{sys.implementation.cache_tag}.pyc").write_bytes(b"compiled by an older checkout")
    assert answer() == before
