"""Where the recorder and decoder of traces is: beside this Python, or wherever LONGLOOK_TRACE points."""

from functools import cache

from longlook.job import Program
from longlook.linkprogram import wheel_program


@cache
def trace_program() -> Program:
    """The `longlook-trace` binary of this installation; MachineError when there is none."""
    return wheel_program("longlook-trace", "LONGLOOK_TRACE", "the decoder of traces")
