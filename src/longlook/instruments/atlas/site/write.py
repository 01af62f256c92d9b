"""Put a site in place as a whole: it is written beside its folder, and takes the folder's name when it is complete."""

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from longlook.core import InputError, Lock, LonglookError, MachineError, files

MARKER = "site.json"
"""The file by which a folder is known as a site of an atlas; it is written over by nothing else."""
KIND = "longlook atlas site"


def marker(facts: Mapping[str, object]) -> bytes:
    """Return the file that names a folder as a site, with facts about it for machines."""
    return (json.dumps({"kind": KIND, **facts}, indent=2, ensure_ascii=False) + "\n").encode()


def refuse_other_folder(out: Path) -> None:
    """Raise InputError unless a folder is missing, empty, or a site: others' files are never replaced."""
    hint = "name a folder that is missing, empty, or a site that this command built"
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise InputError(f"--site {out} is no folder", hint)
    if out.is_dir() and any(out.iterdir()) and not _is_site(out):
        raise InputError(f"--site {out} has files that are no site of an atlas, and would be replaced", hint)


def _is_site(folder: Path) -> bool:
    try:
        found = json.loads(files.read_text(folder / MARKER))
    except (OSError, ValueError, LonglookError):
        return False
    return isinstance(found, dict) and found.get("kind") == KIND


def replace_site(out: Path, content: Mapping[str, bytes]) -> None:
    """Write the files of a site, by their paths, in place of what a folder has; MachineError if that fails.

    Until every file is on the disk the folder is as it was. A killed call leaves hidden folders next to the site, which
    the next call removes. If it was killed between two renames, one of them has the former site, which comes back.
    """
    out = out.absolute() if out.name else out.resolve()  # a name to stand beside, also of `.`
    new, old = (out.with_name(f".{out.name}.{kind}") for kind in ("new", "old"))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        new.mkdir(exist_ok=True)
        lock = Lock(new)
        lock.take()
        try:
            if not out.exists() and old.is_dir():
                old.rename(out)
            refuse_other_folder(out)
            built = new / "site"
            shutil.rmtree(built, ignore_errors=True)
            for path, data in content.items():
                file = built / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            _synchronise(built)
            shutil.rmtree(old, ignore_errors=True)
            _exchange(built, out, old)
        finally:
            lock.release()
            with suppress(OSError):
                shutil.rmtree(new)
    except OSError as error:
        hint = "make room, or name another folder; the site that was there is as it was"
        raise MachineError(f"cannot write the site to {out}: {error.strerror or error}", hint) from error


def _exchange(built: Path, out: Path, old: Path) -> None:
    """Give a folder that is complete the name of another, which comes back if that fails."""
    if out.exists():
        out.rename(old)
    try:
        built.rename(out)
    except OSError:
        if old.exists():
            old.rename(out)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _synchronise(folder: Path) -> None:
    """Wait until the files of a folder are on the disk, so that no rename is there before them."""
    place = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
