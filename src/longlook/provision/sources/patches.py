"""Applies patches exactly as they were written: none fits roughly, and none that was applied before is taken back."""

import subprocess
from pathlib import Path

from longlook.core import InputError, MachineError


def read_patch(patch: Path) -> str:
    """Return the text of a patch; InputError if it cannot be read."""
    try:
        return patch.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the patch {patch} cannot be read: {error}", "name a file that `git diff` wrote") from error


def apply_patch(text: str, patch: Path, folder: Path, hint: str) -> None:
    """Apply the text of a patch, as `git diff` or `diff -ru` writes it, to a folder.

    InputError with the file and the hunk if it does not fit, with `hint`. MachineError without the program `patch`.
    """
    try:
        done = subprocess.run(
            ("patch", "--strip=1", "--fuzz=0", "--batch", "--forward", "--no-backup-if-mismatch", "--reject-file=-"),
            cwd=folder, input=text, capture_output=True, text=True, check=False,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise MachineError("patch is not installed", "sudo apt-get install patch") from error
    if done.returncode != 0:
        raise InputError(f"the patch {patch} does not apply: {_failed(done.stdout or done.stderr)}", hint)


def _failed(said: str) -> str:
    """Return the files and hunks that did not fit, from what the program `patch` says; all of it if it names none."""
    found: list[str] = []
    file = ""
    for line in said.splitlines():
        file = line.removeprefix("patching file ") if line.startswith("patching file ") else file
        if line.startswith("Hunk #") and ("FAILED" in line or "ignored" in line):
            found.append(f"{file}: {line.rstrip('.')}")
    return "; ".join(found) or "; ".join(line.strip() for line in said.splitlines() if line.strip())
