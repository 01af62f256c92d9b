"""The Rust adapters' own tests and checks, by their own tools; each with the newest version that its manifests name."""

import os
import subprocess
from pathlib import Path

import pytest

from longlook.core import registry
from longlook.core.paths import adapters_dir, cache_dir

SHARED = adapters_dir() / "lib" / "rust"
FORMAT = ("cargo", "fmt", "--check")
CLIPPY = ("cargo", "clippy", "-q", "--locked", "-j2", "--all-targets", "--", "-D", "warnings")
TEST = ("cargo", "test", "-q", "--locked", "-j2")


def crates() -> list[Path]:
    """Folders of manifests."""
    stacks = registry.load("stacks")
    named = {name: stack for name, stack in stacks.items() if stack.versions}
    newest = [adapters_dir() / name / "versions" / stack.default_version for name, stack in named.items()]
    return [SHARED, *sorted(folder for folder in newest if (folder / "Cargo.toml").is_file())]


def ran(command: tuple[str, ...], crate: Path) -> None:
    env = {**os.environ, "CARGO_TARGET_DIR": str(cache_dir() / "cargo-tests")}
    done = subprocess.run(command, cwd=crate, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("crate", crates(), ids=lambda crate: "-".join(crate.parts[-3:]))
def test_rust_is_formatted(crate: Path) -> None:
    ran(FORMAT, crate)


@pytest.mark.stacks
@pytest.mark.parametrize("crate", crates(), ids=lambda crate: "-".join(crate.parts[-3:]))
@pytest.mark.parametrize("check", [TEST, CLIPPY], ids=" ".join)
def test_rust_crate(crate: Path, check: tuple[str, ...]) -> None:
    ran(check, crate)
