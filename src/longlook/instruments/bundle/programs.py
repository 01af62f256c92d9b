"""The programs of a run, as files that a bundle carries, and as programs that a verification uses."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from longlook.core import (
    InputError,
    LonglookError,
    Program,
    RunFolder,
    cache_dir,
    file_digest,
    find_tree,
    link_program,
    registry,
    trace_program,
)
from longlook.instruments.bundle.layout import PROGRAMS, About, CarriedProgram
from longlook.provision import KERNEL, install, is_part_installed, kernel_program

KERNEL_PROGRAM, LINK, TRACE = KERNEL, "link", "trace"
_USED = "bundled"
"""The folder of the cache with programs that came in bundles, by their digests."""


@dataclass(frozen=True)
class Carried:
    """Programs that go into a bundle, with their files, and why others do not."""

    carried: tuple[CarriedProgram, ...]
    files: Mapping[str, Path]
    others: Mapping[str, str]


def carried(folder: RunFolder) -> Carried:
    """Return the programs of a run that are single files on this machine, with the digests that the run had."""
    found: dict[str, tuple[str, Path]] = {}
    others: dict[str, str] = {}
    wanted = dict(folder.manifest["programs"])
    if kernel := kernel_of(folder.manifest.get("settings", {})):
        wanted[KERNEL_PROGRAM] = kernel
    for name, digest in wanted.items():
        try:
            program = _installed(name)
        except LonglookError as error:
            others[name] = error.message
            continue
        if program.digest != digest:
            others[name] = f"this machine has {program.digest[:12]}, the run had {digest[:12]}"
        elif (path := Path(program.path)).is_symlink() or file_digest(path) != digest:
            others[name] = "it is many files, or the machine's own: it is installed by its recipe"
        else:
            found[name] = digest, path
    made = tuple(CarriedProgram(name, digest, f"{PROGRAMS}/{digest}") for name, (digest, _) in found.items())
    return Carried(made, {f"{PROGRAMS}/{digest}": path for digest, path in found.values()}, others)


def _installed(name: str) -> Program:
    """Return a program of this machine by its name in a manifest, without building it; LonglookError if it is not."""
    if name == LINK:
        return link_program()
    if name == TRACE:
        return trace_program()
    if name == KERNEL_PROGRAM:
        if not is_part_installed(KERNEL):
            raise InputError("it is not installed here")
        return kernel_program(lambda _text: None)
    stack, _, version = name.partition("@")
    if stack not in registry.stacks():
        raise InputError("it is no stack, but a tool")
    if find_tree(stack, version) is None and not registry.stack(stack).is_installed(version):
        raise InputError("it is not installed here")
    return install(name, lambda _text: None)


def kernel_of(settings: Mapping[str, Mapping[str, str]]) -> str | None:
    """Return the digest of the guest kernel of a run's settings; None if no trial ran in a guest."""
    return next((each["kernel"] for each in settings.values() if "kernel" in each), None)


def given_by(about: About, folder: RunFolder) -> dict[str, Program]:
    """Return the programs of an unpacked bundle by name, put into the cache; InputError if one is not what the manifest
    names.
    """
    unpacked, manifest = folder.path, folder.manifest
    wanted = dict(manifest["programs"])
    if kernel := kernel_of(manifest.get("settings", {})):
        wanted[KERNEL_PROGRAM] = kernel
    found = {}
    for each in about.programs:
        file = unpacked / PROGRAMS / each.sha256
        if (
            each.file != f"{PROGRAMS}/{each.sha256}"
            or wanted.get(each.name) != each.sha256
            or not file.is_file()
            or file_digest(file) != each.sha256
        ):
            raise InputError(f"the bundle's {each.name} is not the program that its manifest names", "get it again")
        found[each.name] = Program(str(_kept(file, each.sha256)), each.sha256)
    return found


def _kept(file: Path, digest: str) -> Path:
    """Return the place of a program in the cache, where guests see it; copy it there if it is not."""
    place = cache_dir() / _USED / digest
    if not place.is_file() or file_digest(place) != digest:
        place.parent.mkdir(parents=True, exist_ok=True)
        partial = place.with_name(f".{digest}.new")
        shutil.copyfile(file, partial)
        partial.chmod(0o755)
        partial.replace(place)
    return place
