"""Stacks written in Python: an environment of their own in the cache, from a lock file. Standard library only."""

import os
import platform
import shutil
import sys
from pathlib import Path

from longlook.core.codec import content_hash
from longlook.core.errors import MachineError
from longlook.core.job import Program
from longlook.core.paths import adapters_dir
from longlook.provision.build_cache import build_folder, compile_with, is_folder_built, sources_digest

ADAPTER = "adapter"
"""The folder of the environment with a copy of the adapter's sources."""

_HINT = "make build, which brings it into .venv, or: pip install uv"
_IN_VENV = ("bin", "python")


def environment(name: str, version: str, sources: Path) -> Program:
    """The Python of an environment with the packages of `locks/VERSION.txt` below `sources`, made where it is missing.

    Its digest covers the adapter's sources, the packages' versions (their files are those that the lock's digests
    allow) and the Python. Everything is compiled when this returns: a guest finds the cache read-only.
    """
    folder = build_folder(
        name,
        version,
        sources,
        python_version(),
        lambda out, final: _make(sources, version, out, final),
        shared_digest(),
    )
    packages = sorted(path.name.removesuffix(".dist-info") for path in folder.glob("lib/python*/*/*.dist-info"))
    digest = content_hash(
        {"sources": sources_digest(folder / ADAPTER), "packages": packages, "python": python_version()}, length=64
    )
    return Program(str(folder.joinpath(*_IN_VENV)), digest)


def is_made(name: str, version: str, sources: Path) -> bool:
    """Whether `environment` has nothing to do."""
    return is_folder_built(name, version, sources, python_version(), shared_digest())


def shared_digest() -> str:
    """What of the adapters' common part makes a result, for the keys of the cache."""
    return sources_digest(_shared())


def copy_adapter(sources: Path, into: Path) -> None:
    """The sources of an adapter in Python, with the common part beside them."""
    compiled = shutil.ignore_patterns("__pycache__")
    shutil.copytree(sources, into, ignore=compiled)
    shutil.copytree(_shared(), into, ignore=compiled, dirs_exist_ok=True)


def _shared() -> Path:
    return adapters_dir() / "lib" / "python"


def adapter_of(program: Program) -> Path:
    """The folder with the adapter's sources beside an environment's Python."""
    return Path(program.path).parents[len(_IN_VENV) - 1] / ADAPTER


def python_version() -> str:
    """The Python that runs this, as part of what makes a result."""
    return f"{platform.python_implementation()} {platform.python_version()} {platform.machine()}"


def _make(sources: Path, version: str, out: Path, final: Path) -> None:
    """An environment of the Python that runs this; the base one, not that of our own environment."""
    uv = _uv()
    compile_with((sys.executable, "-m", "venv", "--without-pip", str(out)), out.parent, _environment())
    python = out.joinpath(*_IN_VENV)
    lock = sources / "locks" / f"{version}.txt"
    install = (uv, "pip", "install", "--quiet", "--python", str(python), "--link-mode", "copy", "--no-deps")
    compile_with((*install, "--only-binary", ":all:", "--require-hashes", "-r", str(lock)), out, _environment())
    copy_adapter(sources, out / ADAPTER)
    compile_modules(python, out, final)


def compile_modules(python: Path, folder: Path, final: Path) -> None:
    """Compile everything below a folder that will be called `final`.

    Not by time stamps, which a copy of the cache would lose; without the name of the temporary folder.
    """
    quiet = (str(python), "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash")
    compile_with((*quiet, "-s", str(folder), "-p", str(final), str(folder)), folder, _environment())


def _uv() -> str:
    """The installer of our own environment, which knows the machine's package index, else the one in PATH."""
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.is_file() else shutil.which("uv")
    if found is None:
        raise MachineError("uv is missing, which installs Python packages", _HINT)
    return found


def _environment() -> dict[str, str]:
    """The caller's, without what would make Python look elsewhere or not compile."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
