"""A job without paths of a machine: each path becomes a reference, which a worker turns into a path of its own.

| reference | what the worker has to have |
|---|---|
| `cache:stacks/…/program` | an entry of the cache, by the digest of its tree; a trace of a link is one too |
| `wheel:longlook-link` | the program of its own wheel, of the same digest |
| `system:/usr/bin/chromium` | a program that is installed there, of the same digest |
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from longlook.core import Endpoint, InputError, Job, MachineError, Program, Trial, paths, program_role, registry
from longlook.provision import decoder, players
from longlook.remote.entries import Entry, Tree, digest_of, entry_of, file_tree, packed, tree_of
from longlook.remote.facts import own_program, wheel_name

CACHE, WHEEL, SYSTEM = "cache:", "wheel:", "system:"
FILES = "remote/files"
"""The folder of the cache with the single files that a worker was sent, each in a folder named by its digest."""

_IDENTITY = ("ca", "certificate", "key")
_HERE = "run it here: --executor local"


@dataclass(frozen=True)
class Portable:
    """Jobs with references in place of paths, and the entries of the cache that they need."""

    jobs: tuple[Job, ...]
    entries: tuple[Entry, ...]


class Packer:
    """Makes jobs portable; it looks into each entry once, since entries never change. Several threads may use it."""

    def __init__(self) -> None:
        self._cache = paths.cache_dir()
        self._known: dict[str, str] = {}  # entry, or file → digest
        self._found: dict[str, _Found] = {}  # digest → where it is
        self._lock = threading.Lock()

    def pack(self, jobs: Iterable[Job], kernel: str) -> Portable:
        """Return jobs as portable ones; InputError or MachineError if one cannot run elsewhere, with the reason.

        `kernel` is the path of the guest's kernel: it travels too if it is in the cache.
        """
        needed: dict[str, str] = {}
        with self._lock:
            packed = tuple(self._packed(job, needed) for job in jobs)
            if Path(kernel).is_relative_to(self._cache):
                self._refer(kernel, needed)
        return Portable(packed, tuple(Entry(path, needed[path]) for path in sorted(needed)))

    def blob(self, digest: str) -> bytes:
        """Return an entry that was found for a job, as what `entries.unpack_into` takes."""
        with self._lock:
            found = self._found[digest]
        return packed(found.folder, found.tree)

    def _packed(self, job: Job, needed: dict[str, str]) -> Job:
        ends = ends_by_role(job.trial)
        for end in ends.values():
            _refuse_plug_in(end.stack)
            for folder in _of_players(end):
                self._refer(str(folder), needed)
        return replace(
            job,
            folder="",
            programs={role: self._program(role in ends, each, needed) for role, each in job.programs.items()},
            content=replace(job.content, root=self._refer(job.content.root, needed)),
            identity=replace(
                job.identity, **{name: self._refer(getattr(job.identity, name), needed) for name in _IDENTITY}
            ),
            traces={digest: self._file(Path(path), needed) for digest, path in job.traces.items()},
        )

    def _program(self, is_end: bool, program: Program, needed: dict[str, str]) -> Program:
        if (name := wheel_name(program)) is not None:
            return replace(program, path=f"{WHEEL}{name}")
        if is_end and not Path(program.path).is_relative_to(self._cache):
            return replace(program, path=f"{SYSTEM}{program.path}")
        return replace(program, path=self._refer(program.path, needed))

    def _refer(self, path: str, needed: dict[str, str]) -> str:
        entry = entry_of(Path(path), self._cache)
        if entry is None:
            raise MachineError(f"{path} is not in the cache, and cannot be sent to a worker", _HERE)
        if entry not in self._known:
            folder = self._cache / entry
            self._know(entry, _Found(folder, tree_of(folder)))
        needed[entry] = self._known[entry]
        return f"{CACHE}{Path(path).relative_to(self._cache).as_posix()}"

    def _file(self, path: Path, needed: dict[str, str]) -> str:
        if str(path) not in self._known:
            self._know(str(path), _Found(path.parent, file_tree(path)))
        entry = f"{FILES}/{self._known[str(path)]}"
        needed[entry] = self._known[str(path)]
        return f"{CACHE}{entry}/{path.name}"

    def _know(self, name: str, found: "_Found") -> None:
        digest = digest_of(found.tree)
        self._known[name], self._found[digest] = digest, found


@dataclass(frozen=True)
class _Found:
    folder: Path
    tree: Tree


class Unpacker:
    """Gives portable jobs the paths of this machine; nothing is installed or built for that."""

    def __init__(self) -> None:
        self._cache = paths.cache_dir()

    def unpack(self, jobs: Sequence[Job], folder: Path) -> tuple[Job, ...]:
        """Return jobs with paths of this machine, each with a folder of its own below `folder`.

        Their entries are in the cache. MachineError if a program that the machine itself has to have is another one.
        """
        return tuple(self._unpacked(job, folder / str(number)) for number, job in enumerate(jobs))

    def _unpacked(self, job: Job, folder: Path) -> Job:
        folder.mkdir()
        ends = ends_by_role(job.trial)
        return replace(
            job,
            folder=str(folder),
            programs={role: self._program(ends.get(role), each) for role, each in job.programs.items()},
            content=replace(job.content, root=self._path(job.content.root)),
            identity=replace(job.identity, **{name: self._path(getattr(job.identity, name)) for name in _IDENTITY}),
            traces={digest: self._path(path) for digest, path in job.traces.items()},
        )

    def _program(self, end: Endpoint | None, program: Program) -> Program:
        if program.path.startswith(WHEEL):
            return own_program(program.path.removeprefix(WHEEL))
        if program.path.startswith(SYSTEM) and end is not None:
            return _installed(end, program)
        return replace(program, path=self._path(program.path))

    def _path(self, reference: str) -> str:
        relative = PurePosixPath(reference.removeprefix(CACHE))
        if not reference.startswith(CACHE) or relative.is_absolute() or ".." in relative.parts:
            raise InputError(
                f"a job names {reference!r}, which is no path of the cache", "update Longlook on both sides"
            )
        return str(self._cache / relative)


def ends_by_role(trial: Trial) -> dict[str, Endpoint]:
    """Return the endpoint behind each role of a trial's job that is a program under test."""
    ends = {
        program_role(flow, role): end
        for flow in trial.each_flow()
        for role, end in (("server", flow.server), ("client", flow.client))
    }
    return ends if trial.proxy is None else {**ends, "proxy": trial.proxy}


def _installed(end: Endpoint, wanted: Program) -> Program:
    """Return a program that this machine has by itself; MachineError if it is missing, or is not the wanted one."""
    path = wanted.path.removeprefix(SYSTEM)
    stack = registry.stack(end.stack)
    if not stack.is_installed(end.version):
        raise MachineError(f"{end.stack}@{end.version} is not installed here", f"install it on every worker: {path}")
    found = stack.install(end.version)
    if (found.path, found.digest) != (path, wanted.digest):
        raise MachineError(
            f"{end.stack} is {found.path} with the digest {found.digest} here, and {path} with {wanted.digest} there",
            "install the same release on every machine",
        )
    return found


def _refuse_plug_in(stack: str) -> None:
    place = registry.place("stacks", stack)
    if place.file is not None or not place.module.startswith("longlook."):
        raise InputError(
            f"stack {stack} is a plug-in of this machine ({place.file or place.module}), and workers have none", _HERE
        )


def _of_players(end: Endpoint) -> Iterator[Path]:
    """Yield the folders of the cache that a browser is given for a page with a player."""
    if "player" in end.knobs:
        yield players.folder()
        if registry.stack(end.stack).lacks_decoder:
            yield decoder.folder()
