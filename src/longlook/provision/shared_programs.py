"""Programs and guest kernels of other machines, by what they are made of: taken instead of built, and given on.

A machine without compilers runs what another one built. Machines with other compilers have the same bytes too, and so
the same trials. The cache of this machine holds them, with the store of several machines behind it, if there is one.
"""

import json
import shutil
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from longlook.core import STORES_BEHIND, Program, cache_dir, content_hash, file_digest, kernel_dir
from longlook.provision import guest_kernel
from longlook.provision.build_cache import filled
from longlook.provision.guest_kernel.build import STEPS
from longlook.provision.guest_kernel.source import pinned_source
from longlook.provision.prebuilt import Prebuilt, programs_also_from
from longlook.store import KERNELS, PROGRAMS, cache_of, cache_with_store

_PROGRAM, _PROGRAM_RECORD = "program", "program.json"
_KERNEL, _KERNEL_RECORD = "linux", "kernel.json"


def also_shared() -> AbstractContextManager[None]:
    """Let this thread take programs of other machines in the block, if the inputs are the same."""
    return programs_also_from(_shared_program)


def _shared_program(name: str, version: str, inputs: str) -> Prebuilt | None:
    def read(folder: Path) -> Prebuilt:
        record = _record(folder, _PROGRAM, _PROGRAM_RECORD)
        if (record["name"], record["version"], record["inputs"]) != (name, version, inputs):
            raise ValueError(f"the program in {folder} is another")
        return Prebuilt(folder / _PROGRAM, record)

    return cache_with_store(PROGRAMS).read(inputs, read)


def share_programs(programs: Iterable[Program]) -> list[str]:
    """Offer programs to the store behind, and return their keys; folders and the system's programs stay here."""
    keys = []
    for program in programs:
        folder = Path(program.path).parent
        try:
            record = _record(folder, Path(program.path).name, _PROGRAM_RECORD)
            key = str(record["inputs"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        _keep(PROGRAMS, key, folder, [_PROGRAM, _PROGRAM_RECORD])
        keys.append(key)
    return keys


def share_all_programs() -> None:
    """Offer every program that was built on this machine, and its guest kernel, to the store behind."""
    built = sorted((cache_dir() / "stacks").glob(f"*/*/*/{_PROGRAM}"))
    share_programs(Program(str(file), "") for file in built if file.is_file())
    if guest_kernel.made_of() is not None:
        share_kernel(guest_kernel.kernel_program(lambda _text: None))


def share_kernel(kernel: Program) -> str | None:
    """Offer the guest kernel to the store behind, and return its key; None, and no offer, if it is not as pinned."""
    if guest_kernel.made_of() is None or guest_kernel.deviation() is not None:
        return None
    _keep(KERNELS, key := kernel_key(), Path(kernel.path).parent, [_KERNEL, _KERNEL_RECORD])
    return key


def take_kernel(say: Callable[[str], None]) -> None:
    """Take the guest kernel from the store behind if this machine has none."""
    if guest_kernel.installed() or KERNELS not in STORES_BEHIND:
        return

    def read(folder: Path) -> bool:
        _record(folder, _KERNEL, _KERNEL_RECORD)
        filled(cache_dir() / "kernel" / key, lambda _entry: guest_kernel.installed(), lambda into: _lay(folder, into))
        return True

    key = kernel_key()
    if cache_with_store(KERNELS).read(key, read):
        say("the guest kernel is of another machine")


def kernel_key() -> str:
    """Return the digest of what the guest kernel is made of: patch, configuration, pinned source and steps."""
    folder = kernel_dir()
    patch, config = (file_digest(folder / name) for name in ("time-travel.patch", "config"))
    source = pinned_source(folder).sha256
    return content_hash({"patch": patch, "config": config, "source": source, "steps": STEPS})


def _lay(folder: Path, into: Path) -> None:
    for name in (_KERNEL, _KERNEL_RECORD):
        shutil.copyfile(folder / name, into / name)
    (into / _KERNEL).chmod(0o755)


def _record(folder: Path, name: str, record_name: str) -> dict[str, Any]:
    """Return the record beside a file; ValueError if it is of another file."""
    record: dict[str, Any] = json.loads((folder / record_name).read_text())
    if record["sha256"] != file_digest(folder / name):
        raise ValueError(f"{folder / name} is not what {record_name} says")
    return record


def _keep(kind: str, key: str, folder: Path, names: list[str]) -> None:
    if kind not in STORES_BEHIND:
        return
    cache = cache_with_store(kind)
    if cache_of(kind).has(key):
        cache.offer(key)
    else:
        cache.keep(key, folder, names)
