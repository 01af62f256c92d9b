<<<<<<< HEAD
"""Where `longlook-trace` (records, decodes, infers) is: beside this Python, or where LONGLOOK_TRACE points."""

import os
import sys
from functools import cache
from pathlib import Path

from longlook.errors import MachineError


@cache
def trace_program() -> Path:
    """The `longlook-trace` binary of this installation; MachineError when there is none."""
    path = Path(os.environ.get("LONGLOOK_TRACE") or Path(sys.executable).parent / "longlook-trace").absolute()
    if not path.is_file():
        raise MachineError(f"the program for traces {path} is missing", "make build")
    return path
=======
"""Where the recorder and decoder of traces is: beside this Python, or wherever LONGLOOK_TRACE points."""

from functools import cache

from longlook.job import Program
from longlook.linkprogram import wheel_program


@cache
def trace_program() -> Program:
    """The `longlook-trace` binary of this installation; MachineError when there is none."""
    return wheel_program("longlook-trace", "LONGLOOK_TRACE", "the decoder of traces")
>>>>>>> normalise
