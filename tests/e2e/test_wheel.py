"""The two wheels in an environment of their own, beside compilers that fail: the results are the checkout's."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(900)
"""On a checkout whose programs are of another folder, they are compiled anew for it."""

COMPILERS = ("go", "cargo", "rustc", "cc", "gcc", "make", "patch", "cmake")
ONE_CELL = ("--only", "client=quic-go", "--only", "10Mbit,5KB", "--rounds", "2", "--around", "none", "--json")
BUILD = (
    "import sys; from pathlib import Path; sys.path.insert(0, 'packaging'); import make; make.make(Path(sys.argv[1]))"
)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with both wheels; what they depend on is the checkout's."""
    folder = tmp_path_factory.mktemp("wheels")
    command = (sys.executable, "-c", BUILD, folder)
    made = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=850)
    assert made.returncode == 0, made.stderr
    environment = folder / "environment"
    venv.create(environment, symlinks=True)
    wheels = sorted(folder.glob("*.whl"))
    uv = Path(sysconfig.get_path("scripts")) / "uv"
    install = (uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", environment / "bin" / "python")
    subprocess.run((*install, *wheels), check=True, capture_output=True)
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    for name in COMPILERS:
        (environment / "bin" / name).write_text(f'#!/bin/sh\necho "$1" >> {folder}/asked\nexit 1\n')
        (environment / "bin" / name).chmod(0o755)
    return environment


def outside(environment: Path, cache: Path) -> dict[str, str]:
    """Return the variables of a person who has the environment, an empty cache and no checkout."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("LONGLOOK_")}
    return {**kept, "PATH": f"{environment / 'bin'}:{os.environ['PATH']}", "LONGLOOK_CACHE": str(cache)}


def ran(program: Path, folder: Path, env: Mapping[str, str]) -> dict[str, Any]:
    """Run one cell of the demo; return the digest of its results, and its estimates."""
    command = (program, "run", "demo", *ONE_CELL, "--out", folder)
    done = subprocess.run(command, cwd=folder.parent, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    return {name: result[name] for name in ("results", "outcomes", "estimates")}


@pytest.mark.slow
def test_a_run_from_wheels_compiles_nothing_and_has_the_checkout_s_results(installed: Path, tmp_path: Path) -> None:
    theirs = ran(installed / "bin" / "longlook", tmp_path / "theirs", outside(installed, tmp_path / "cache"))
    ours = ran(Path(sysconfig.get_path("scripts")) / "longlook", tmp_path / "ours", os.environ)
    asked = installed.parent / "asked"
    assert {*(asked.read_text().split() if asked.exists() else ())} <= {"env", "version", "--version"}
    assert theirs == ours


def test_the_source_distribution_has_what_its_wheel_needs(installed: Path) -> None:
    (archive,) = installed.parent.glob("*.tar.gz")
    with tarfile.open(archive) as members:
        names = {name.partition("/")[2] for name in members.getnames()}
    assert {"longlook.data/scripts/longlook", "packaging/backend.py", "packaging/archive.py", "Cargo.lock"} <= names
    (site,) = installed.glob("lib/python*/site-packages")
    share = site / "longlook" / "share"
    packed = {path.relative_to(share).as_posix() for path in share.rglob("*") if path.is_file()}
    assert packed - {"prebuilt.json"} <= names
    assert {"adapters/quic-go/go.mod", "adapters/lib/rust/Cargo.toml", "kernel/source.lock"} <= packed


def test_doctor_of_a_wheel_needs_no_checkout(installed: Path, tmp_path: Path) -> None:
    env = outside(installed, tmp_path / "cache")
    done = subprocess.run(
        (installed / "bin" / "longlook", "doctor"), cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "longlook-prebuilt" in done.stdout


def test_a_kernel_that_was_changed_after_its_installation_is_refused(installed: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(installed, tmp_path / "copy", symlinks=True)
    (kernel,) = copy.glob("lib/python*/site-packages/longlook_prebuilt/kernel/linux")
    kernel.write_bytes(kernel.read_bytes() + b"\0")
    command = (copy / "bin" / "python", "-m", "longlook", "setup", "kernel")
    env = outside(copy, tmp_path / "cache")
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "is not what Longlook's wheel was made with" in done.stderr + done.stdout
