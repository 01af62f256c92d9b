"""Whether a trial that ran again differs in nothing but the moment at which its setup ended.

The setup of a trial takes some system calls more or fewer if another release of the system's libraries loads the link
emulator, and each takes time in a guest. The log of the link names that moment in its header, and counts packets from
it. If the header gets the moment of the first run, the digest of the whole log proves that all else is the same.
"""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from longlook.core import Run, files
from longlook.run import LINK_LOG

_OF_SETUP = ("interval_s", "own_share")
"""Observations of the guard that include the setup."""


_LENGTH = slice(8, 12)
"""The place of the header's length in a log of the link, whose JSON follows (docs/reference/link-formats.md)."""


def setup_shift_ns(kept: Run, again: Run, folder: Path) -> int | None:
    """Return by how many ns the setup of `again`, whose files are in `folder`, took longer than the setup of `kept`.

    None if the two differ in anything else.
    """
    shift_ns = round((again.setup_s - kept.setup_s) * 1e9)
    if not shift_ns or _without_setup(kept) != _without_setup(again):
        return None
    moved = _moved(files.read_bytes(folder / LINK_LOG), -shift_ns)
    return shift_ns if moved and hashlib.sha256(moved).hexdigest() == kept.artefacts.get(LINK_LOG) else None


def _without_setup(run: Run) -> Run:
    return replace(
        run,
        setup_s=0.0,
        artefacts={name: digest for name, digest in run.artefacts.items() if name != LINK_LOG},
        guard={name: value for name, value in run.guard.items() if name not in _OF_SETUP},
    )


def _moved(log: bytes, by_ns: int) -> bytes:
    """Return a log of the link whose header names moments that are later by `by_ns`; nothing without such a header."""
    try:
        length = int.from_bytes(log[_LENGTH], "little")
        clock: dict[str, int] = json.loads(log[_LENGTH.stop : _LENGTH.stop + length])["clock"]
    except (ValueError, KeyError, TypeError):
        return b""
    for name, value_ns in clock.items():
        before, after = (f'"{name}":{moment}'.encode() for moment in (value_ns, value_ns + by_ns))
        if len(before) != len(after) or log.count(before) != 1:
            return b""
        log = log.replace(before, after)
    return log
