"""Stacks in Rust: one program per version, from the lock file that the version has, with what all of them share."""

import os
import shutil
from pathlib import Path

from longlook.core.codec import content_hash
from longlook.core.errors import MachineError
from longlook.core.job import Program
from longlook.core.paths import adapters_dir
from longlook.provision.build_cache import build, compile_with, is_built, sources_digest, toolchain_version

_HINT = "install Rust with rustup, or sudo apt-get install cargo (1.85 or newer)"
_SHARED = "lib/rust"
_BINARY = "adapter"
_RECIPE = "release, two jobs"  # part of the key: another way to build makes another program


def cargo_build(name: str, version: str, needs: tuple[str, str] | None = None) -> Program:
    """The program of adapters/`name` with the manifest and lock in its versions/`version`, or from the cache.

    `needs` is a tool that the build starts beside cargo, and how to install it.
    """

    def compile_in(work: Path, out: Path) -> None:
        if needs is not None and shutil.which(needs[0]) is None:
            raise MachineError(f"{needs[0]} is not installed, which {name} {version} is built with", needs[1])
        _compile(name, version, work, out)

    return build(name, version, _sources(name), _toolchain(name), compile_in, _recipe(name, version))


def is_cargo_built(name: str, version: str) -> bool:
    """Whether `cargo_build` has nothing to do."""
    try:
        return is_built(name, version, _sources(name), _toolchain(name), _recipe(name, version))
    except MachineError:  # no Rust here: the version cannot be told
        return False


def _sources(name: str) -> Path:
    return adapters_dir() / name / "src"


def _toolchain(name: str) -> str:
    return toolchain_version(("cargo", "--version"), _HINT, _sources(name))


def _recipe(name: str, version: str) -> str:
    own = adapters_dir() / name / "versions" / version
    shared = adapters_dir() / _SHARED
    parts = [sources_digest(own), sources_digest(shared / "src"), (shared / "Cargo.toml").read_text(), _RECIPE]
    return content_hash(parts)


def _compile(name: str, version: str, work: Path, out: Path) -> None:
    """Builds in `work` the tree that the checkout has, because the manifests name each other by relative paths."""
    tree = work / "tree"
    here = tree / name
    shutil.copytree(_sources(name), here / "src")
    shutil.copytree(adapters_dir() / name / "versions" / version, here / "versions" / version)
    shutil.copytree(adapters_dir() / _SHARED, tree / _SHARED, ignore=shutil.ignore_patterns("target"))
    target = work / "target"
    env = {**os.environ, "CARGO_TARGET_DIR": str(target), **_without_places(work)}
    manifest = here / "versions" / version / "Cargo.toml"
    compile_with(("cargo", "build", "--release", "--locked", "-j2", "--manifest-path", str(manifest)), work, env)
    (target / "release" / _BINARY).rename(out)


def _without_places(work: Path) -> dict[str, str]:
    """No folder of this machine gets into the program, so that the same sources give the same bytes anywhere."""
    cargo_home = os.environ.get("CARGO_HOME") or str(Path.home() / ".cargo")
    places = {str(work): "/build", cargo_home: "/cargo"}
    c_flags = " ".join(f"-ffile-prefix-map={place}={name}" for place, name in places.items())
    rust_flags = " ".join(f"--remap-path-prefix={place}={name}" for place, name in places.items())
    return {"CFLAGS": c_flags, "CXXFLAGS": c_flags, "RUSTFLAGS": rust_flags}
