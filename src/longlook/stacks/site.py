"""A server of the world outside, named by its URL. Its program stands for it: it measures the path to the site without
emulation and serves nothing (adapters/site).
"""

from longlook.core import (
    BASE_BOUND_MS,
    BY_DIGEST,
    BY_SIZE,
    COMPARE,
    SITE,
    URL,
    USUAL_BASE_BOUND_MS,
    Command,
    ConnectionState,
    Knob,
    Program,
    ServerJob,
    Stack,
    Version,
)
from longlook.provision import GoAdapter

_MODULE = "github.com/quic-go/quic-go"
_SERVER = ("server",)

_KNOBS = {
    URL: Knob(str, None, None, "what is measured; written as server = \"https://HOST/PATH\"", roles=_SERVER),
    COMPARE: Knob(
        str, None, BY_DIGEST, "digest: all bodies of a round are the same; size: they are of one size",
        roles=_SERVER, choices=(BY_DIGEST, BY_SIZE),
    ),
    BASE_BOUND_MS: Knob(
        float, "ms", USUAL_BASE_BOUND_MS,
        "by how much TCP's own round trip may differ in a round; QUIC's handshake four times that",
        roles=_SERVER, minimum=0.1, maximum=1000,
    ),
}  # fmt: skip


def install(version: str) -> Program:
    """Build the adapter, or take it from the cache."""
    return GoAdapter(SITE, STACK.version(version).name, _MODULE).build()


def installed(version: str) -> bool:
    """Return whether `install` has nothing to do."""
    return GoAdapter(SITE, version, _MODULE).is_built


def command(program: Program, job: ServerJob) -> Command:
    """Return the call of the program that stands for the site."""
    return Command((program.path, "server", "--host", job.identity.host, "--ca", job.identity.ca))


STACK = Stack(
    name=SITE,
    summary="a server of the world outside, named by its URL, in real time alone",
    roles=_SERVER,
    protocols=("h3", "h2"),
    connections=tuple(ConnectionState),
    versions=(Version("0.65.0", "2026-11-03", note="the version is quic-go's, which measures the path to the site"),),
    knobs=_KNOBS,
    log_formats=(),
    install=install,
    server_command=command,
    installed=installed,
    server_reports_state=False,
    outside=True,
)
