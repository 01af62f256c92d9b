"""Where the programs of the wheel are: beside this Python, or wherever LONGLOOK_LINK and its like point."""

import hashlib
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from longlook.core.errors import InputError, MachineError
from longlook.core.job import Program


@cache
def link_program() -> Program:
    """The `longlook-link` binary of this installation; MachineError when there is none."""
    return wheel_program("longlook-link", "LONGLOOK_LINK", "the link emulator")


def wheel_program(name: str, variable: str, what: str) -> Program:
    """The binary `name`, or what the environment's `variable` names; MachineError about `what` when it is not there."""
    path = Path(os.environ.get(variable) or Path(sys.executable).parent / name).absolute()
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError as error:
        raise MachineError(f"{what} {path} is missing", "make build") from error
    return Program(str(path), digest)


def ask_link(*arguments: str) -> str:
    """What the router program prints; its own words as an error where it fails."""
    done = subprocess.run([link_program().path, *arguments], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    said = json.loads(lines[-1]) if lines else {"reason": done.stderr.strip(), "hint": None}
    kind = InputError if done.returncode in (1, 2) else MachineError
    raise kind(str(said.get("reason")), said.get("hint"))


@cache
def trace_program() -> Program:
    """The `longlook-trace` binary of this installation; MachineError when there is none."""
    return wheel_program("longlook-trace", "LONGLOOK_TRACE", "the decoder of traces")
