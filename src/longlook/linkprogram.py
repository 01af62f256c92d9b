"""Where the router is: beside this Python, or wherever LONGLOOK_LINK points."""

import hashlib
import os
import sys
from functools import cache
from pathlib import Path

from longlook.errors import MachineError
from longlook.job import Program


@cache
def link_program() -> Program:
    """The `longlook-link` binary of this installation; MachineError when there is none."""
    path = Path(os.environ.get("LONGLOOK_LINK") or Path(sys.executable).parent / "longlook-link").absolute()
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError as error:
        raise MachineError(f"the link emulator {path} is missing", "make build") from error
    return Program(str(path), digest)
