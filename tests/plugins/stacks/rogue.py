"""A stack whose programs do everything that programs should not (tests/plugins/programs/rogue.py)."""

import hashlib
import json
import sys
from pathlib import Path

from longlook.core.job import Program
from longlook.core.model import ConnectionState
from longlook.core.stack import Command, Knob, ProxyJob, ServerJob, Stack, Version

PROGRAM = Path(__file__).parents[1] / "programs" / "rogue.py"
SOURCES = sorted(PROGRAM.parent.glob("rogue*.py"))


def install(_version: str) -> Program:
    return Program(str(PROGRAM), hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest())


def server_command(program: Program, job: ServerJob) -> Command:
    order = {
        "protocol": job.protocol,
        "address": job.address,
        "port": job.port,
        "www": job.www,
        "knobs": dict(job.knobs),
    }
    return Command((sys.executable, program.path, "server", json.dumps(order)))


def proxy_command(program: Program, job: ProxyJob) -> Command:
    address, _, port = job.upstream.rpartition(":")
    order = {
        "protocol": job.protocol,
        "address": job.address,
        "port": job.port,
        "upstream": (address, int(port)),
        "knobs": dict(job.knobs),
    }
    return Command((sys.executable, program.path, "proxy", json.dumps(order)))


def client_command(program: Program, job_file: str) -> Command:
    return Command((sys.executable, program.path, "client", job_file))


STACK = Stack(
    name="rogue",
    summary="for tests: misbehaves on request",
    roles=("server", "client", "proxy"),
    protocols=("h2",),
    connections=(ConnectionState.COLD,),
    versions=(Version("0", ""),),
    knobs={"fault": Knob(str, None, "none", "what goes wrong", roles=("server", "client", "proxy"))},
    log_formats=(),
    install=install,
    server_command=server_command,
    client_command=client_command,
    proxy_command=proxy_command,
    installed=lambda _version: True,
)
