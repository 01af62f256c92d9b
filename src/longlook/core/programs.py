"""The programs of the wheel: next to this Python, or at the paths in LONGLOOK_BOX, LONGLOOK_LINK and LONGLOOK_TRACE."""

import hashlib
import json
import os
import subprocess
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

from longlook.core.errors import InputError, MachineError
from longlook.core.job import Program

_ELF = b"\x7fELF"


@cache
def link_program() -> Program:
    """Return the `longlook-link` binary of this installation; MachineError if there is none."""
    return wheel_program("longlook-link", "LONGLOOK_LINK", "the link emulator")


def wheel_program(name: str, variable: str, what: str) -> Program:
    """Return the binary `name`, or the binary that an environment variable names; MachineError
    about `what` if missing.
    """
    path = Path(os.environ.get(variable) or Path(sys.executable).parent / name).absolute()
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError as error:
        raise MachineError(f"{what} {path} is missing", "make build") from error
    return Program(str(path), digest)


def wheel_programs() -> dict[str, Program]:
    """Return every compiled program that this installation's wheel brought, by name; MachineError for a missing one.

    The wheel's own record says which they are, so that none can be forgotten.
    """
    recorded = (Path(str(file.locate())) for file in metadata.files("longlook") or ())
    names = sorted(path.name for path in recorded if path.parent.name == "bin" and _is_compiled(path))
    return {name: wheel_program(name, name.upper().replace("-", "_"), f"the wheel's {name}") for name in names}


def _is_compiled(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_ELF)) == _ELF
    except FileNotFoundError:
        return True  # which `wheel_program` then says


def ask_link(*arguments: str) -> str:
    """Return the output of `longlook-link`; raise its own reason and hint if it fails."""
    done = subprocess.run([link_program().path, *arguments], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    report = json.loads(lines[-1]) if lines else {"reason": done.stderr.strip(), "hint": None}
    kind = InputError if done.returncode in (1, 2) else MachineError
    raise kind(str(report.get("reason")), report.get("hint"))


@cache
def trace_program() -> Program:
    """Return the `longlook-trace` binary of this installation; MachineError if there is none."""
    return wheel_program("longlook-trace", "LONGLOOK_TRACE", "the decoder of traces")


@cache
def box_program() -> Program:
    """Return the `longlook-box` binary of this installation; MachineError if there is none.

    Its digest is no part of a trial: what a guest computes does not depend on the box around it.
    """
    return wheel_program("longlook-box", "LONGLOOK_BOX", "the box of guests")
