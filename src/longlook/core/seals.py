"""Whether the files of a run are as they were sealed: evidence that was edited, damaged or lost is never read as sound.

A trial's `run.json` has the digests of all its other files. `seals.jsonl` of the run folder has the digest of every
`run.json`, and of every file that the run and its analysis write once and read later. Standard library only.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from longlook.core import files
from longlook.core.errors import InputError, MachineError

SEALS = "seals.jsonl"
RUN_RECORD = "run.json"

_FILE, _DIGEST = "file", "sha256"


class Seals:
    """The digests of files below a folder, by relative path: lines of JSON that are only ever added, the last counts.

    A file without a seal counts as sound here, for a run of an earlier Longlook has none.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / SEALS
        self._known: dict[str, str | None] | None = None

    def of(self, name: str) -> str | None:
        """Return the digest that a file was sealed with; None if it has no seal."""
        return self._read().get(name)

    def add(self, names: Iterable[str]) -> None:
        """Seal files as they are now; one that does not exist has no seal any more."""
        found = {name: _digest_or_none(self._folder / name) for name in names}
        self._append({name: digest for name, digest in found.items() if digest != self.of(name)})

    def put(self, name: str, digest: str) -> None:
        """Seal a file with a digest, before it has its name."""
        self._append({name: digest})

    def withdraw(self, names: Iterable[str]) -> None:
        """Take the seals of files away, because the files are taken away."""
        self._append({name: None for name in names if self.of(name) is not None})

    def drop_half_line(self) -> None:
        """Drop the half of a line that a killed process left at the end."""
        if self._path.exists():
            text = files.read_bytes(self._path)
            if not text.endswith(b"\n"):
                os.truncate(self._path, text.rfind(b"\n") + 1)

    def _append(self, digests: Mapping[str, str | None]) -> None:
        if not digests:
            return
        known = self._read()
        text = "".join(json.dumps({_FILE: name, _DIGEST: digest}) + "\n" for name, digest in digests.items())
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise MachineError(f"cannot write {self._path}: {error.strerror}", "make room, or copy the folder") from (
                error
            )
        known.update(digests)

    def _read(self) -> dict[str, str | None]:
        if self._known is None:
            self._known = dict(self._lines())
        return self._known

    def _lines(self) -> Iterator[tuple[str, str | None]]:
        try:
            lines = files.read_bytes(self._path).split(b"\n")
        except FileNotFoundError:
            return
        for number, line in enumerate(lines[:-1], 1):  # what follows the last line's end is half a line, or nothing
            try:
                entry = json.loads(line)
                yield str(entry[_FILE]), entry[_DIGEST]
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(
                    f"{self._path}: line {number} is damaged",
                    "restore the file from a copy, or remove it: the trials' own digests are then all that is checked",
                ) from error


def altered_files(folder: Path, artefacts: Mapping[str, str], later: Iterable[str]) -> list[str]:
    """Return how a trial's folder differs from the digests of its `run.json`, a phrase for each file, in order.

    `later` are names that are made from the others, and may be there or not; so may hidden files. All must be regular
    files. OSError if a folder cannot be read.
    """
    expected = {RUN_RECORD, *artefacts, *later}
    there = dict(files.below(folder))
    wrong = {name: f"{name} is missing" for name in artefacts.keys() - there.keys()}  # so is one outside of the folder
    both = artefacts.keys() & there.keys()
    wrong |= {name: what for name in both if (what := altered_file(folder, name, artefacts[name]))}
    for name, what in there.items():
        if what is not None:
            wrong[name] = f"{name} cannot be read (it is {what})"
        elif name not in expected and not any(part.startswith(".") for part in name.split("/")):
            wrong[name] = f"{name} was added"
    return [wrong[name] for name in sorted(wrong)]


def altered_file(folder: Path, name: str, digest: str) -> str | None:
    """Return in a phrase how a file differs from its digest; None if it does not."""
    try:
        return None if files.digest(folder / name) == digest else f"{name} was changed"
    except FileNotFoundError:
        return f"{name} is missing"
    except OSError as error:
        return f"{name} cannot be read ({error.strerror})"


def _digest_or_none(path: Path) -> str | None:
    try:
        return files.digest(path)
    except FileNotFoundError:
        return None
