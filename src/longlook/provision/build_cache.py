"""Folders and programs in the cache: made once, atomically and by one process at a time, and verified at every use.

Programs are keyed by their inputs: sources, tools, and the code of the module that builds them. Standard library only.
"""

import contextlib
import errno
import fcntl
import inspect
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from longlook.core import MachineError, Program, builder_digest, cache_dir, content_hash, file_digest
from longlook.provision.prebuilt import prebuilt_program
from longlook.provision.progress import report_step

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST)


def filled(folder: Path, is_intact: Callable[[Path], bool], fill: Callable[[Path], None]) -> Path:
    """Return `folder`; call `fill` to make its contents first if it is missing, or not intact by `is_intact`.

    `fill` works in a temporary folder, which is renamed at the end: no process ever sees half of it, and a killed one
    leaves only a temporary folder that the next call removes. Raise MachineError when the cache cannot be written.
    """
    if folder.is_dir() and is_intact(folder):
        return folder
    with _explained(folder), locked(folder):
        if folder.is_dir() and is_intact(folder):  # another process has just made it
            return folder
        _remove_stale(folder)
        temporary = Path(tempfile.mkdtemp(prefix=_prefix(folder), dir=folder.parent))
        try:
            temporary.chmod(0o755)
            fill(temporary)
            if folder.exists():
                shutil.rmtree(folder)
            temporary.rename(folder)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    return folder


def _prefix(folder: Path) -> str:
    return f".{folder.name}.making-"


def _remove_stale(folder: Path) -> None:
    for stale in folder.parent.glob(f"{_prefix(folder)}*"):
        shutil.rmtree(stale, ignore_errors=True)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock on `folder` between processes; the kernel drops the lock of a process that dies.

    Creates the folder's parent; the folder itself need not exist.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f".{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report_step("waiting for another longlook, which is making it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = os.fspath(folder.parent)
        if error.errno in _FULL:
            raise MachineError(
                f"the disk of the cache is full ({where})", "free some, or move it: LONGLOOK_CACHE"
            ) from error
        if error.errno in _FORBIDDEN:
            raise MachineError(
                f"the cache cannot be written: {error}", "make it writable, or move it: LONGLOOK_CACHE"
            ) from error
        raise


_RECORD = "program.json"
_PROGRAM = "program"


def build(
    name: str,
    version: str,
    sources: Path,
    toolchain: Callable[[], str],
    build: Callable[[Path, Path], None],
    recipe: str = "",
) -> Program:
    """Return the program of a stack's version; build it if the cache does not hold it intact.

    `sources` is the folder that it is made from, `toolchain` returns the compiler's version, and `recipe` stands for
    everything else that determines the result but the code of the module that calls this. All of them and the version
    make the key. `build(work, out)` compiles the copy of the sources in `work` into the file `out`. Every use compares
    the program's digest with the one recorded after the build, and a corrupt entry is built again.

    A program of the package longlook-prebuilt that was made of the same is taken instead, whatever compiler this
    machine has.
    """
    made_by = _builder()
    inputs = _inputs(sources, recipe, made_by)
    prebuilt = prebuilt_program(name, version, inputs)
    compiler = toolchain() if prebuilt is None else prebuilt.record["toolchain"]
    folder = _entry(name, version, sources, compiler, recipe, made_by)

    def fill(into: Path) -> None:
        if prebuilt is None:
            work = into / "work"
            shutil.copytree(sources, work)
            build(work, into / _PROGRAM)
            shutil.rmtree(work)
        else:
            shutil.copyfile(prebuilt.file, into / _PROGRAM)
        (into / _PROGRAM).chmod(0o755)
        record = {
            "name": name, "version": version, "toolchain": compiler, "inputs": inputs,
            "sha256": file_digest(into / _PROGRAM),
        }  # fmt: skip
        (into / _RECORD).write_text(json.dumps(record, indent=1) + "\n")

    filled(folder, _is_intact, fill)
    return Program(str(folder / _PROGRAM), _recorded_digest(folder))


def build_folder(
    name: str, version: str, sources: Path, toolchain: str, build: Callable[[Path, Path], None], recipe: str = ""
) -> Path:
    """Return the folder of a stack that is many files; build it if the cache does not hold it intact.

    `build(out, final)` fills `out`, which is renamed to `final` afterwards. Every use checks all files. The other
    parameters are as in `build`.
    """
    folder = _entry(name, version, sources, toolchain, recipe, _builder())

    def fill(into: Path) -> None:
        build(into / _PROGRAM, folder / _PROGRAM)
        record = {"name": name, "version": version, "toolchain": toolchain, "sha256": _tree_digest(into / _PROGRAM)}
        (into / _RECORD).write_text(json.dumps(record, indent=1) + "\n")

    return filled(folder, _is_intact_folder, fill) / _PROGRAM


def is_folder_built(name: str, version: str, sources: Path, toolchain: str, recipe: str = "") -> bool:
    """Return whether `build_folder` would find the folder in the cache, intact, called by the same module."""
    return _is_intact_folder(_entry(name, version, sources, toolchain, recipe, _builder()))


def is_built(name: str, version: str, sources: Path, toolchain: Callable[[], str], recipe: str = "") -> bool:
    """Return whether `build` would find the program, intact, called by the same module."""
    made_by = _builder()
    if prebuilt_program(name, version, _inputs(sources, recipe, made_by)) is not None:
        return True
    return _is_intact(_entry(name, version, sources, toolchain(), recipe, made_by))


def toolchain_version(
    command: Sequence[str], hint: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> str:
    """Return the version that a compiler prints in `cwd`, by default with the caller's environment.

    Raise MachineError with `hint` if the compiler is missing or broken.
    """
    if cwd is not None:
        _expect_folder(cwd)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=env)
    except FileNotFoundError as error:
        raise MachineError(f"{command[0]} is not installed", hint) from error
    if done.returncode != 0:
        raise MachineError(f"{' '.join(command)} failed: {done.stderr.strip()}", hint)
    return done.stdout.strip()


def sources_digest(folder: Path) -> str:
    """Return the digest of the relative names and contents of the files below a folder that determine a program.

    Markdown and compiled Python do not count: a change in a README does not make another program.
    """
    return _tree_digest(folder, lambda path: path.parent.name != "__pycache__" and path.suffix != ".md")


def _tree_digest(folder: Path, counts: Callable[[Path], bool] = lambda _path: True) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and counts(path))
    return content_hash([(str(path.relative_to(folder)), file_digest(path)) for path in files])


def _builder() -> str:
    """Return the name of the module that calls the caller: no builder can leave its own code out of a key."""
    frame = inspect.currentframe()
    for _ in range(2):
        frame = frame.f_back if frame is not None else None
    if frame is None:
        raise RuntimeError("this Python does not say which module calls")
    return str(frame.f_globals["__name__"])


def _inputs(sources: Path, recipe: str, builder: str) -> str:
    """Return the digest of what determines a program beside the compiler."""
    _expect_folder(sources)
    return content_hash([sources_digest(sources), recipe, builder_digest(builder)])


def _entry(name: str, version: str, sources: Path, toolchain: str, recipe: str, builder: str) -> Path:
    _expect_folder(sources)
    made_by = builder_digest(builder)
    key = content_hash(
        {"sources": sources_digest(sources), "toolchain": toolchain, "recipe": recipe, "builder": made_by}
    )
    return cache_dir() / "stacks" / name / version / key


def _expect_folder(sources: Path) -> None:
    if not sources.is_dir():
        raise MachineError(f"there are no sources in {sources}", "set LONGLOOK_ADAPTERS to the adapters/ of a checkout")


def _is_intact(folder: Path) -> bool:
    try:
        return _recorded_digest(folder) == file_digest(folder / _PROGRAM)
    except (OSError, ValueError, KeyError):
        return False


def _is_intact_folder(folder: Path) -> bool:
    try:
        return _recorded_digest(folder) == _tree_digest(folder / _PROGRAM)
    except (OSError, ValueError, KeyError):
        return False


def _recorded_digest(folder: Path) -> str:
    digest: str = json.loads((folder / _RECORD).read_text())["sha256"]
    return digest
