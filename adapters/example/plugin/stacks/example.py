"""example: HTTP/1.1 over TLS by Python's standard library, a stack to copy (adapters/example)."""

import sys
from pathlib import Path

from longlook.core import (
    Command,
    ConnectionState,
    Program,
    ServerJob,
    Stack,
    Version,
    adapters_dir,
    content_hash,
    server_arguments,
)
from longlook.provision import python_version, shared_digest, sources_digest

_ADAPTER = Path(__file__).resolve().parents[2]
"""The folder of the programs. In src/longlook/stacks it is `adapters_dir() / "NAME"`."""


def install(version: str) -> Program:
    """Return the program; its digest covers everything that decides what it does, as results are kept by it.

    Nothing has to be built here. A stack with a library of its own builds or fetches it (docs of `provision`).
    """
    parts = [STACK.version(version).name, sources_digest(_ADAPTER), shared_digest(), python_version()]
    return Program(str(_ADAPTER / "example_main.py"), content_hash(parts, length=64))


def installed(version: str) -> bool:
    """Return whether `install` has nothing to do."""
    return version in STACK.version_names


def server_command(program: Program, job: ServerJob) -> Command:
    """Return the call of the program as a server."""
    return _command(program, *server_arguments(job))


def client_command(program: Program, job_file: str) -> Command:
    """Return the call of the program as a client."""
    return _command(program, "client", job_file)


def _command(program: Program, *arguments: str) -> Command:
    """Return a call by the Python that runs Longlook, without its site-packages (-S)."""
    library = {"PYTHONPATH": str(adapters_dir() / "lib" / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    return Command((sys.executable, "-S", program.path, *arguments), library)


STACK = Stack(
    name="example",
    summary="the example to copy: HTTP/1.1 over TLS by Python's standard library",
    roles=("server", "client"),
    protocols=("h1",),
    connections=(ConnectionState.COLD,),  # a client refuses what is not declared here
    versions=(Version("1.0", "2026-11-22"),),  # oldest first; the last is the default
    knobs={},  # each one declared here is proven by `longlook stacks check`
    log_formats=(),  # "qlog" where QLOGDIR is honoured
    install=install,
    server_command=server_command,
    client_command=client_command,
    installed=installed,
    several_connections=True,  # the client honours `connections` of its job
)
