"""The rogue client as a session client."""

import hashlib
import sys
from pathlib import Path

from longlook.core.job import Identity, Program
from longlook.core.model import ConnectionState
from longlook.core.stack import Command, Knob, Stack, Version

PROGRAM = Path(__file__).parents[1] / "programs" / "rogue.py"
SOURCES = sorted(PROGRAM.parent.glob("rogue*.py"))


def install(_version: str) -> Program:
    return Program(str(PROGRAM), hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest())


def session_command(program: Program, _identity: Identity) -> Command:
    return Command((sys.executable, program.path, "session"))


STACK = Stack(
    name="rogue-session",
    summary="for tests: a warm client that misbehaves on request",
    roles=("client",),
    protocols=("h2",),
    connections=(ConnectionState.COLD,),
    versions=(Version("0", ""),),
    knobs={"fault": Knob(str, None, "none", "what goes wrong", roles=("client",))},
    log_formats=(),
    install=install,
    session_command=session_command,
    installed=lambda _version: True,
)
