"""Notes and tags of a run: the words of its owner, in a hidden file that bundles leave out.

They are no part of the results, so nothing seals them. They have a file of their own, as a run that goes on writes to
its manifest at any moment.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from longlook.core import InputError, MachineError, codec, files, write_json

FILE = ".notes.json"
_LARGEST_BYTES = 1 << 20
_LONGEST_NOTE = 2000
_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,39}")


@dataclass(frozen=True)
class Notes:
    """The note of a run, empty if it has none, and its tags in alphabetical order."""

    note: str = ""
    tags: tuple[str, ...] = ()


def read_notes(run: Path) -> Notes:
    """Return what was noted about a run; nothing if the file is missing, or is none that Longlook wrote."""
    try:
        return codec.decode(Notes, files.read_json(run / FILE, _LARGEST_BYTES))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Notes()


def write_note(run: Path, text: str) -> Notes:
    """Replace the note of a run, and return what is noted now; an empty text removes it."""
    text = text.strip()
    if len(text) > _LONGEST_NOTE:
        raise InputError(f"a note of {len(text)} characters", f"at most {_LONGEST_NOTE}; a file can hold more")
    return _write(run, Notes(text, read_notes(run).tags))


def change_tags(run: Path, tags: Iterable[str], *, remove: bool = False) -> Notes:
    """Add tags to a run, or remove them, and return what is noted now."""
    wanted = set(tags)
    if wrong := sorted(tag for tag in wanted if not _TAG.fullmatch(tag)):
        hint = "1 to 40 letters, digits and . _ + -, a letter or digit first: longlook runs tag RUN paper-1"
        raise InputError(f"{wrong[0]!r} is no tag", hint)
    notes = read_notes(run)
    kept = set(notes.tags) - wanted if remove else set(notes.tags) | wanted
    return _write(run, Notes(notes.note, tuple(sorted(kept))))


def _write(run: Path, notes: Notes) -> Notes:
    try:
        write_json(run / FILE, codec.encode(notes))
    except OSError as error:
        raise MachineError(f"cannot write to {run}: {error.strerror}", "make it writable, or copy it") from error
    return notes
