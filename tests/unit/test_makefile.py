"""What `make` brings up to date: an old installation is noticed, and stale bytecode does no harm."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
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


def test_nothing_is_compiled_without_the_lock_file() -> None:
    """Every call of cargo that resolves dependences, by make, by the fuzzers and by the build of the wheel."""
    calls = [
        line
        for file in ("Makefile", "fuzz/run", "scripts/bootstrap")
        for line in (ROOT / file).read_text().splitlines()
        if re.search(r"cargo (test|clippy|build|run|bench)\b", line)
    ]
    assert len(calls) >= 3
    assert [line for line in calls if "--locked" not in line] == []
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]["locked"] is True


def test_uv_is_installed_with_the_digests_of_the_lock_file() -> None:
    text = (ROOT / "scripts" / "bootstrap").read_text()
    (command,) = re.findall(r"sed -n '[^']+' requirements\.lock", text)
    found = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    first, *hashes = found.splitlines()
    assert re.fullmatch(r"uv==[\d.]+ \\", first)
    assert len(hashes) > 10
    assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line) for line in hashes)
    assert "--require-hashes -r .venv/uv.lock" in text
