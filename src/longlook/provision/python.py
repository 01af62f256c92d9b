"""Installs stacks written in Python: each gets a virtual environment in the cache, from a lock file.

This module imports the standard library only, since stack files import it in guests too.
"""

import os
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from longlook.core import (
    Command,
    MachineError,
    Program,
    ServerJob,
    Version,
    adapter_dir,
    adapters_dir,
    content_hash,
    find_version,
    server_arguments,
)
from longlook.provision import build_steps
from longlook.provision.build_cache import build_folder, is_folder_built, sources_digest

ADAPTER = "adapter"
"""The folder of the environment with a copy of the adapter's sources."""

ENVIRONMENT = {
    "PYTHONPYCACHEPREFIX": "",  # the one of our own Python: an adapter has its compiled modules beside it
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""The environment variables of every adapter in Python."""

IN_VENV = ("bin", "python")
"""The place of the Python in an environment."""

_HINT = "make build, which brings it into .venv, or: pip install uv"


@dataclass(frozen=True)
class PythonAdapter:
    """The adapter in `adapters/NAME`, whose versions each have a lock file in its folder `locks`."""

    name: str
    versions: tuple[Version, ...]

    def install(self, version: str) -> Program:
        """Make the environment with one version, or take it from the cache; InputError for an unknown version."""
        return environment(self.name, find_version(self.name, self.versions, version).name, self._sources)

    def installed(self, version: str) -> bool:
        """Return whether `install` has nothing to do."""
        return is_made(self.name, version, self._sources)

    @property
    def _sources(self) -> Path:
        return adapter_dir(self.name)


def environment(name: str, version: str, sources: Path) -> Program:
    """Return the Python of an environment with the packages of `locks/VERSION.txt` below `sources`.

    It is made if the cache lacks it. Its digest covers the adapter's sources, the packages' versions (the lock pins the
    digests of their files) and the Python. Everything is compiled when this returns, because the cache is read-only in
    a guest. Raise MachineError if it cannot be made.
    """
    folder = build_folder(
        name,
        version,
        sources,
        python_version(),
        lambda out, final: _make(sources, version, out, final),
        shared_digest(),
    )
    parts = {"sources": sources_digest(folder / ADAPTER), "packages": packages_of(folder), "python": python_version()}
    return Program(str(folder.joinpath(*IN_VENV)), content_hash(parts, length=64))


def packages_of(folder: Path) -> list[str]:
    """Return name and version of each package in an environment, sorted: `attrs-26.1.0`."""
    return sorted(path.name.removesuffix(".dist-info") for path in folder.glob("lib/python*/*/*.dist-info"))


def is_made(name: str, version: str, sources: Path) -> bool:
    """Return whether `environment` has nothing to do."""
    return is_folder_built(name, version, sources, python_version(), shared_digest())


def shared_digest() -> str:
    """Return the digest of the adapters' common part, for the keys of the cache."""
    return sources_digest(_shared())


def copy_adapter(sources: Path, into: Path) -> None:
    """Copy the sources of an adapter in Python, and the common part, into a new folder."""
    compiled = shutil.ignore_patterns("__pycache__")
    shutil.copytree(sources, into, ignore=compiled)
    shutil.copytree(_shared(), into, ignore=compiled, dirs_exist_ok=True)


def _shared() -> Path:
    return adapters_dir() / "lib" / "python"


def adapter_of(program: Program) -> Path:
    """Return the folder with the adapter's sources in an environment, from the environment's Python."""
    return Path(program.path).parents[len(IN_VENV) - 1] / ADAPTER


def python_server(program: Program, job: ServerJob) -> Command:
    """Return the call of an environment's adapter as a server."""
    return _call(program, *server_arguments(job))


def python_client(program: Program, job_file: str) -> Command:
    """Return the call of an environment's adapter as a client."""
    return _call(program, "client", job_file)


def _call(program: Program, *arguments: str) -> Command:
    (main,) = adapter_of(program).glob("*_main.py")
    return Command((program.path, str(main), *arguments), ENVIRONMENT)


def python_version() -> str:
    """Return the name and version of the Python that runs this, for the keys of the cache."""
    return f"{platform.python_implementation()} {platform.python_version()} {platform.machine()}"


def _make(sources: Path, version: str, out: Path, final: Path) -> None:
    """Make an environment of the base Python of the running Python."""
    uv = find_uv()
    make_venv(out)
    python = out.joinpath(*IN_VENV)
    lock = sources / "locks" / f"{version}.txt"
    install = (uv, "pip", "install", "--quiet", "--python", str(python), "--link-mode", "copy", "--no-deps")
    build_steps.run(
        (*install, "--only-binary", ":all:", "--require-hashes", "-r", str(lock)), cwd=out, env=environment_of_tools()
    )
    copy_adapter(sources, out / ADAPTER)
    compile_modules(python, out, final)


def make_venv(out: Path) -> None:
    """Make an empty environment of the base Python of the running Python."""
    build_steps.run(
        (sys.executable, "-m", "venv", "--without-pip", str(out)), cwd=out.parent, env=environment_of_tools()
    )


def compile_modules(python: Path, folder: Path, final: Path) -> None:
    """Compile everything below a folder that will be renamed to `final`.

    The compiled files are validated by nothing rather than by time stamps, which a copy of the cache would lose, and
    they do not contain the name of the temporary folder. Nothing that is installed there runs meanwhile.
    """
    quiet = (str(python), "-I", "-S", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash")
    build_steps.run((*quiet, "-s", str(folder), "-p", str(final), str(folder)), cwd=folder, env=environment_of_tools())


def unpack(pinned: str, into: Path, *file_for: str) -> Path:
    """Unpack the file of a package, and nothing that it depends on, below a folder, and return its place.

    `pinned` is a line of a lock file, with a digest; `file_for` are options of uv that choose the file, if another than
    this machine's is meant. Raise MachineError if the package index lacks it.
    """
    work, lock = into / "work", into / "lock.txt"
    lock.write_text(pinned + "\n")
    install = (find_uv(), "pip", "install", "--quiet", "--target", str(work), "--no-deps", "--only-binary", ":all:")
    build_steps.run((*install, *file_for, "--require-hashes", "-r", str(lock)), cwd=into, env=environment_of_tools())
    return work


def find_uv() -> str:
    """Return the uv of our own environment, which knows the machine's package index, else the one in PATH.

    Raise MachineError without one.
    """
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.is_file() else shutil.which("uv")
    if found is None:
        raise MachineError("uv is missing, which installs Python packages", _HINT)
    return found


def environment_of_tools() -> dict[str, str]:
    """Return the caller's environment without the variables that make Python look elsewhere or not compile."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
