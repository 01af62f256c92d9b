"""Python's own HTTP server and a client for it: HTTP/1.0, a connection for each file (adapters/python-http)."""

from pathlib import Path

from longlook.core.job import Program
from longlook.core.model import ConnectionState
from longlook.core.paths import adapters_dir
from longlook.core.stack import Command, Knob, ServerJob, Stack, Version, server_arguments
from longlook.provision.python import adapter_of, environment, is_made

_NAME = "python-http"
_ENVIRONMENT = {
    "PYTHONPYCACHEPREFIX": "",  # the one of our own Python: this environment has its compiled modules beside it
    "PYTHONDONTWRITEBYTECODE": "1",
}
_KNOBS = {
    "threads": Knob(
        bool, None, False, "each connection has a thread; else one is answered after the other", roles=("server",)
    ),
}


def install(version: str) -> Program:
    """Make the environment, or take it from the cache."""
    return environment(_NAME, STACK.version(version).name, _sources())


def installed(version: str) -> bool:
    """Return whether `install` has nothing to do."""
    return is_made(_NAME, version, _sources())


def server_command(program: Program, job: ServerJob) -> Command:
    """Return the call of the program as a server."""
    return _command(program, *server_arguments(job))


def client_command(program: Program, job_file: str) -> Command:
    """Return the call of the program as a client."""
    return _command(program, "client", job_file)


def _command(program: Program, *arguments: str) -> Command:
    return Command((program.path, str(adapter_of(program) / "python_http_main.py"), *arguments), _ENVIRONMENT)


def _sources() -> Path:
    return adapters_dir() / _NAME


STACK = Stack(
    name=_NAME,
    summary="Python's http.server and http.client: HTTP/1.0 over TLS, a connection for each file",
    roles=("server", "client"),
    protocols=("http/1.0",),
    connections=(ConnectionState.COLD, ConnectionState.RESUMED),
    versions=(Version("0.6", "", note="the module's own version; the program's digest covers that of Python"),),
    knobs=_KNOBS,
    log_formats=(),
    install=install,
    server_command=server_command,
    client_command=client_command,
    installed=installed,
)
