"""Builds stacks written in Python from sources that are no release: a folder, a commit, a release with patches.

Each gets an environment of its own. Its dependencies come from the nearest release's lock; requirements that these
do not meet are resolved, and `RESOLVED` beside the program lists them. If the sources in C and their `setup.py` are
the release's, its compiled modules are taken, so that both programs run the same machine code, and nothing of the
sources runs while they are installed. Otherwise the machine's compiler builds them, confined and without a network.
"""

import configparser
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook.core import (
    FromSources,
    InputError,
    MachineError,
    Program,
    SourceTree,
    adapter_dir,
    adapters_dir,
    cache_dir,
    content_hash,
    file_digest,
)
from longlook.provision import build_steps, confined
from longlook.provision.build_cache import build_folder, filled, is_folder_built, sources_digest
from longlook.provision.progress import report_step
from longlook.provision.python import (
    ADAPTER,
    IN_VENV,
    compile_modules,
    copy_adapter,
    environment_of_tools,
    find_uv,
    make_venv,
    packages_of,
    python_version,
    shared_digest,
    unpack,
)

RESOLVED = "resolved.txt"
"""The file of an environment that lists the packages which are not as the lock has them, if there are any."""

TOOLS = "python-tools.txt"
"""The file of adapters/ with the pinned tools that fetch and build sources: a lock file."""

_NATIVE = frozenset((".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".pxd", ".pyx", ".S"))
_COMPILED = frozenset((".so", ".pyd", ".o", ".pyc"))
_ZIP_EPOCH = "315532800"  # 1980, the oldest time that a wheel can state
_OF_INDEX = re.compile(r"\s*[A-Za-z0-9][\w.-]*\s*(?:\[[\w\s,.-]*\])?\s*\(?[\w\s.,*+!<>=~-]*\)?\s*(?:;.*)?", re.ASCII)
"""A requirement (PEP 508) that names no URL: those could be of any host, and be sources that run when installed."""
_MISSING = (
    (r"Python\.h", "sudo apt-get install python3-dev"),
    (r"openssl/\w+\.h|cannot find -l(?:crypto|ssl)", "sudo apt-get install libssl-dev"),
    (r"command '[^']*(?:gcc|cc|clang)' failed: No such file", "sudo apt-get install build-essential"),
)
"""Things that the log of a failed build names → the command that installs it."""


def python_sources(name: str) -> FromSources:
    """Return the way from sources of the package `name` to programs of the adapter `adapters/NAME`."""
    return FromSources(
        build=lambda tree: _TreeBuild(name, tree).build(),
        is_built=lambda tree: _TreeBuild(name, tree).is_built,
        state_version=lambda folder: state_python_version(folder, name),
        unpack=lambda version, into: unpack_release(name, version, into),
    )


def state_python_version(folder: Path, package: str) -> str:
    """Return the version that sources state, "" if they do not as text; InputError if they are no sources of `package`.

    Nothing of the sources runs. The version comes from `pyproject.toml` or `setup.cfg`, else the package's
    `__version__`.
    """
    facts = _project(folder)
    named = facts.get("name")
    if not isinstance(named, str):
        raise InputError(
            f"no pyproject.toml or setup.cfg of the sources names a project, and {package} is expected",
            "name the folder that has it",
        )
    if re.sub(r"[-_.]+", "-", named).lower() != package:
        raise InputError(f"the sources are those of {named}", f"name a folder with {package}")
    version = facts.get("version")
    if isinstance(version, str):
        return version
    found = re.search(
        r"""^__version__\s*=\s*["']([^"']+)["']""", (_package(folder, package) / "__init__.py").read_text(), re.M
    )
    return found[1] if found else ""


def _project(folder: Path) -> Mapping[str, Any]:
    """Return what sources state of their project: `name`, `version` and `dependencies`, as far as they state it."""
    try:
        if (folder / "pyproject.toml").is_file():
            found: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text()).get("project", {})
            if found:
                return found
        old = configparser.ConfigParser(interpolation=None)
        old.read(folder / "setup.cfg")
    except (tomllib.TOMLDecodeError, configparser.Error, UnicodeDecodeError) as error:
        raise InputError(f"the project file of the sources cannot be read: {error}", "correct it") from error
    facts = {key: old.get("metadata", key) for key in ("name", "version") if old.has_option("metadata", key)}
    if facts.get("version", "").startswith(("attr:", "file:")):
        del facts["version"]
    needed = old.get("options", "install_requires", fallback="")
    return {**facts, "dependencies": [line.strip() for line in needed.splitlines() if line.strip()]}


def _package(folder: Path, package: str) -> Path:
    for place in (folder / "src" / package, folder / package):
        if (place / "__init__.py").is_file():
            return place
    raise InputError(f"the sources have no package {package}", f"name the folder that has src/{package} or {package}")


def unpack_release(name: str, version: str, into: Path) -> None:
    """Put the sources of a release, as the package index has them, into a new folder."""
    shutil.copytree(_release(name, version), into)


def _release(name: str, version: str) -> Path:
    """Return the folder of the cache with the sources of a release, which the lock pins; fetched if it is missing."""
    return filled(_release_folder(name, version), Path.is_dir, lambda into: _fetch_release(name, version, into))


def _release_folder(name: str, version: str) -> Path:
    return cache_dir() / "releases" / f"{name}-{version}"


def _fetch_release(name: str, version: str, into: Path) -> None:
    work = into / "work"
    (work / "pip").mkdir(parents=True)
    tools = dict(_pins(adapters_dir() / TOOLS))
    (pip,) = (pinned for tool, pinned in tools.items() if tool == "pip")
    tool = unpack(pip, work / "pip")
    (work / "lock.txt").write_text(dict(_pins(_lock(name, version)))[name])
    options = ("--quiet", "--no-deps", "--no-binary", ":all:", "--require-hashes", "--dest", str(work / "packed"))
    constraints = ("--build-constraint", str(_build_constraints(work)))
    build_steps.run(
        (sys.executable, "-m", "pip", "download", *options, *constraints, "-r", str(work / "lock.txt")),
        cwd=work, env={**environment_of_tools(), "PYTHONPATH": str(tool)},
    )  # fmt: skip
    (packed,) = (work / "packed").iterdir()
    shutil.unpack_archive(packed, work / "sources")  # its digest is the lock's
    (sources,) = (work / "sources").iterdir()
    for path in sources.iterdir():
        path.rename(into / path.name)
    shutil.rmtree(work)


def _build_constraints(work: Path) -> Path:
    """Return a file with the pinned versions of what builds packages."""
    file = work / "constraints.txt"
    pins = dict(_pins(adapters_dir() / TOOLS)).values()
    file.write_text("".join(f"{pinned.split()[0]}\n" for pinned in pins))
    return file


def _lock(name: str, version: str) -> Path:
    return adapter_dir(name) / "locks" / f"{version}.txt"


def _pins(lock: Path) -> Iterator[tuple[str, str]]:
    """Yield (package, its lines) of a lock file."""
    for entry in re.split(r"(?<!\\)\n", lock.read_text()):
        if "==" in entry:
            yield entry.partition("==")[0], entry + "\n"


@dataclass(frozen=True)
class _TreeBuild:
    """A copy of sources that stands in for the package which the adapter `adapters/NAME` drives."""

    name: str
    tree: SourceTree

    def build(self) -> Program:
        folder = build_folder(self.name, self.tree.version, self._adapter, _toolchain(), self._make, self._recipe)
        others = [package for package in packages_of(folder) if not package.startswith(f"{self.name}-")]
        parts = {
            "sources": sources_digest(folder / ADAPTER),
            "packages": others,
            "python": python_version(),
            "library": sources_digest(_site(folder) / self.name),
        }
        return Program(str(folder.joinpath(*IN_VENV)), content_hash(parts, length=64))

    @property
    def is_built(self) -> bool:
        return is_folder_built(self.name, self.tree.version, self._adapter, _toolchain(), self._recipe)

    @property
    def _adapter(self) -> Path:
        return adapter_dir(self.name)

    @property
    def _recipe(self) -> str:
        return f"{shared_digest()} {self.tree.of} {self.tree.digest}"

    def _make(self, out: Path, final: Path) -> None:
        work = out.with_name("work")
        work.mkdir()
        make_venv(out)
        lock = dict(_pins(_lock(self.name, self.tree.of)))
        if self._is_compiled_as_released():
            report_step("the compiled modules are the release's: sources in C are unchanged")
            self._install(out, work, lock)
            self._resolve(out)
            self._lay_over(out)
        else:
            del lock[self.name]
            self._install(out, work, lock)
            self._resolve(out)  # before anything is there that the sources have made: tools run the Python in `out`
            self._unpack(self._compile(out, work), out)
        _name_version(_site(out) / self.name, self.tree.reported)
        copy_adapter(self._adapter, out / ADAPTER)
        shutil.rmtree(work)
        compile_modules(out.joinpath(*IN_VENV), out, final)

    def _is_compiled_as_released(self) -> bool:
        return _native(self.tree.folder, self.name) == _native(_release(self.name, self.tree.of), self.name)

    def _install(self, out: Path, work: Path, lock: Mapping[str, str]) -> None:
        (work / "lock.txt").write_text("".join(lock.values()))
        _uv_install(out, "--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", str(work / "lock.txt"))

    def _lay_over(self, out: Path) -> None:
        """Put the sources' package in the place of the release's, and keep the compiled modules of that."""
        installed, own = _site(out) / self.name, _package(self.tree.folder, self.name)
        for path in sorted(installed.rglob("*"), reverse=True):
            if path.is_file() and path.suffix not in _COMPILED:
                path.unlink()
        generated = shutil.ignore_patterns(*(f"*{suffix}" for suffix in (*_NATIVE, *_COMPILED)))
        shutil.copytree(own, installed, ignore=generated, dirs_exist_ok=True)

    def _compile(self, out: Path, work: Path) -> Path:
        """Return the wheel that the sources' own build makes of them, confined, with the tools that they require."""
        builder, ground = work / "builder", work / "build"
        copy = ground / "sources"
        make_venv(builder)
        tools = _expect_of_index(_build_system(self.tree.folder))
        if tools:
            pinned = ("--constraints", str(_build_constraints(work)))
            _uv_install(builder, "--only-binary", ":all:", *pinned, *tools)
        shutil.copytree(self.tree.folder, copy, symlinks=True)
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(Path.home()),
            "CFLAGS": f"-g0 -ffile-prefix-map={copy}=/{self.name}",
            "SOURCE_DATE_EPOCH": _ZIP_EPOCH,
            "LC_ALL": "C",
        }
        python = ("--python", str(builder.joinpath(*IN_VENV)))
        alone = ("--offline", "--no-config", "--no-cache", "--no-build-isolation", *python)
        command = (find_uv(), "build", "--wheel", *alone, "--out-dir", str(ground), str(copy))
        try:
            confined.run(command, ground, env)
        except MachineError as error:
            hints = (hint for sign, hint in _MISSING if re.search(sign, error.message))
            raise MachineError(error.message, next(hints, error.hint)) from error
        wheels = sorted(ground.glob("*.whl"))
        if len(wheels) != 1:
            raise MachineError(f"the sources' build made {len(wheels)} wheels", "one wheel, of the package alone")
        return confined.inside(wheels[0], ground)

    def _unpack(self, wheel: Path, out: Path) -> None:
        """Put the package of a wheel into an environment. Another file of a wheel could stand in for any module, or
        run whenever Python starts.
        """
        with zipfile.ZipFile(wheel) as packed:
            for name in packed.namelist():
                first = name.partition("/")[0]
                if first != self.name and not re.fullmatch(rf"{self.name}-[^/]+\.dist-info", first):
                    raise InputError(
                        f"the wheel of the sources has {name} beside the package {self.name}",
                        "leave it out of the wheel",
                    )
            packed.extractall(_site(out))

    def _resolve(self, out: Path) -> None:
        """Install what the sources require and the lock does not meet, and record it."""
        required = _expect_of_index(_project(self.tree.folder).get("dependencies") or ())
        before = packages_of(out)
        if required:
            _uv_install(out, "--only-binary", ":all:", *required)
        if resolved := sorted({*packages_of(out)} - {*before}):
            report_step(f"resolved, since the lock does not meet what the sources require: {', '.join(resolved)}")
            (out / RESOLVED).write_text("".join(f"{package}\n" for package in resolved))


def _build_system(folder: Path) -> Sequence[str]:
    """Return what the build of sources requires (PEP 518)."""
    file = folder / "pyproject.toml"
    table = tomllib.loads(file.read_text()).get("build-system", {}) if file.is_file() else {}
    found: Sequence[str] = table.get("requires", ("setuptools", "wheel"))
    return found


def _expect_of_index(required: Sequence[str]) -> Sequence[str]:
    """Return requirements of packages of the index; InputError for one that names a place, or is none."""
    for each in required:
        if not _OF_INDEX.fullmatch(each):
            raise InputError(
                f"the sources require {each!r}, which is no package of the package index",
                "name a package with the versions that will do, such as attrs>=24",
            )
    return required


def _uv_install(out: Path, *arguments: str) -> None:
    python = ("--python", str(out.joinpath(*IN_VENV)))
    install = (find_uv(), "pip", "install", "--quiet", *python, "--link-mode", "copy")
    build_steps.run((*install, *arguments), cwd=out, env=environment_of_tools())


def _site(folder: Path) -> Path:
    (found,) = folder.glob("lib/python*/site-packages")
    return found


def _native(folder: Path, package: str) -> dict[str, str]:
    """Return the digest of each file that compiled modules are made of, by its path."""
    own = _package(folder, package)
    files = [path for path in own.rglob("*") if path.suffix in _NATIVE and path.is_file()]
    names = {f"{package}/{path.relative_to(own)}": path for path in files}
    names |= {"setup.py": folder / "setup.py"} if (folder / "setup.py").is_file() else {}
    return {name: file_digest(path) for name, path in names.items()}


def _name_version(package: Path, version: str) -> None:
    """Let a package report a version: whatever it says before, the last line of its `__init__.py` counts."""
    with (package / "__init__.py").open("a") as file:
        file.write(f'\n__version__ = "{version}"\n')


def _toolchain() -> str:
    """Return the Python and the machine's compiler, if it has one: only sources that were changed in C need it."""
    compiler = shutil.which("cc")
    said = subprocess.run((compiler, "--version"), capture_output=True, text=True, check=False) if compiler else None
    return f"{python_version()}; {said.stdout.splitlines()[0] if said and said.stdout else 'no compiler of C'}"
