"""The rogue client waiting busily by design, and declared so."""

import hashlib
import sys
from pathlib import Path

from longlook.core.job import Program
from longlook.core.model import ConnectionState
from longlook.core.stack import Command, Knob, Stack, Version

PROGRAM = Path(__file__).parents[1] / "programs" / "rogue.py"
SOURCES = sorted(PROGRAM.parent.glob("rogue*.py"))


def install(_version: str) -> Program:
    return Program(str(PROGRAM), hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest())


def client_command(program: Program, job_file: str) -> Command:
    return Command((sys.executable, program.path, "client", job_file, "busily"))


STACK = Stack(
    name="rogue-busy",
    summary="for tests: a client that spins until an alarm rings",
    roles=("client",),
    protocols=("h2",),
    connections=(ConnectionState.COLD,),
    versions=(Version("0", ""),),
    knobs={"fault": Knob(str, None, "none", "what goes wrong", roles=("client",))},
    log_formats=(),
    install=install,
    client_command=client_command,
    installed=lambda _version: True,
    busy_waits=True,
)
