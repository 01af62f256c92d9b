"""Files that a user names, as they are when unpacked: gzip and zstd, by how they begin; `-` is standard input.

Standard library only: `longlook-trace unpack` unpacks, within a bound.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from longlook.core import files
from longlook.core.errors import InputError, MachineError
from longlook.core.programs import trace_program

STANDARD_INPUT = Path("-")
"""The name of standard input in the place of a file."""

_GZIP, _ZSTD, _SKIPPABLE = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"
_SHOWN = "standard input"
_CHUNK_BYTES = 1 << 20


def is_packed(head: bytes) -> bool:
    """Return whether a file that begins so is packed with gzip or zstd."""
    return head.startswith((_GZIP, _ZSTD)) or (head[1:4] == _SKIPPABLE and head[0] >> 4 == 5)


@contextmanager
def as_file(path: Path, most_bytes: int = files.LARGEST_STREAMED_BYTES) -> Iterator[Path]:
    """Yield the path, or of standard input the path of a copy of at most `most_bytes`.

    Raise InputError if standard input is a terminal, empty or longer; messages about the copy call it standard
    input. Raise MachineError if there is no room.
    """
    if path != STANDARD_INPUT:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="longlook-input-") as folder:
        copy = Path(folder) / _SHOWN
        _copy_input(copy, most_bytes)
        try:
            yield copy
        except InputError as error:
            raise type(error)(error.message.replace(str(copy), _SHOWN), error.hint) from error


def read_unpacked(path: Path, most_bytes: int) -> bytes:
    """Return the unpacked content of a file that the user names, at most `most_bytes` in either form.

    Errors as of `files.open_named`, and InputError if it cannot be unpacked.
    """
    data = files.read_named(path, most_bytes)
    if not is_packed(data[:4]):
        return data
    with unpacked(path, most_bytes) as plain:
        return files.read_bytes(plain, most_bytes)


@contextmanager
def unpacked(path: Path, most_bytes: int) -> Iterator[Path]:
    """Yield the path of an unpacked copy of a file, of at most `most_bytes`; InputError if it cannot be unpacked."""
    with tempfile.TemporaryDirectory(prefix="longlook-unpacked-") as folder:
        copy = Path(folder) / "unpacked"
        command = [trace_program().path, "unpack", str(path), "--out", str(copy), "--limit-bytes", str(most_bytes)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = done.stdout.splitlines()
            said = json.loads(lines[-1]) if lines else {"reason": done.stderr.strip(), "hint": None}
            kind = MachineError if done.returncode == MachineError.exit_code else InputError
            raise kind(str(said.get("reason")), said.get("hint"))
        yield copy


def _copy_input(copy: Path, most_bytes: int) -> None:
    source = sys.stdin.buffer
    if source.isatty():
        raise InputError(f"{_SHOWN} is a terminal", "pipe a file into the command, or name it")
    left = most_bytes
    try:
        with copy.open("xb") as file:
            while data := source.read(min(_CHUNK_BYTES, left + 1)):
                if len(data) > left:
                    raise InputError(f"{_SHOWN} is over {most_bytes} bytes long", "name the file instead")
                left -= len(data)
                file.write(data)
    except OSError as error:
        raise MachineError(f"{_SHOWN} cannot be kept: {error.strerror}", "free space, or set TMPDIR") from error
    if left == most_bytes:
        raise InputError(f"{_SHOWN} is empty", "check the command before the pipe")
