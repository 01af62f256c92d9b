"""For tests: a stack with a history. Its versions are quic-go with windows of their own, so some really are slower."""

from dataclasses import replace

from longlook.core.errors import MachineError
from longlook.core.job import Program
from longlook.core.stack import Command, ServerJob, Version
from longlook.stacks import quic_go

SLOW_SINCE = "4.0"
FLAKY = "7.0"
_SMALL_WINDOWS = """
changed=$(mktemp)
sed 's/"knobs": {}/"knobs": {"initial_stream_window": 20000, "max_stream_window": 20000}/' "$2" > "$changed"
if cmp -s "$2" "$changed"; then echo "the job has no place for knobs" >&2; exit 1; fi
exec "$1" client "$changed"
"""
_LOSES_HALF = """
byte=$(od -A n -t u1 -N 1 /dev/urandom)  # drawn from the trial's seed in a guest
if [ $((byte % 2)) = 1 ]; then echo '{"event": "error", "reason": "made to give up"}'; exit 1; fi
exec "$1" client "$2"
"""
"""Scripts of a shell: the time that Python takes to start depends on the path of the checkout."""
_VERSIONS = (
    Version("1.0", "2020-05-12"),
    Version("2.0", "2021-03-01"),
    Version("3.0", "2022-08-20", note="does not build"),
    Version("4.0", "2023-01-15"),
    Version("5.0", "2024-06-30"),
    Version("6.0", "2026-02-28"),
    Version("7.0", "2026-09-30", note="gives up in half of its trials"),
)


def install(version: str) -> Program:
    if STACK.version(version).name == "3.0":
        raise MachineError("go build failed with exit code 1:\nmain.go:7: undefined: quic.Old", "use another version")
    program = quic_go.install(quic_go.STACK.default_version)
    return replace(program, digest=f"{program.digest[:-2]}{STACK.version_names.index(version):02x}")


def installed(version: str) -> bool:
    return version != "3.0" and quic_go.installed(quic_go.STACK.default_version)


def server_command(program: Program, job: ServerJob) -> Command:
    return quic_go.server_command(program, job)


def client_command(program: Program, job_file: str) -> Command:
    """The digest's end is the version's place in the history."""
    place = int(program.digest[-2:], 16)
    if place < STACK.version_names.index(SLOW_SINCE):
        return quic_go.client_command(program, job_file)
    script = _LOSES_HALF if place == STACK.version_names.index(FLAKY) else _SMALL_WINDOWS
    return Command(("/bin/sh", "-c", script, "sh", program.path, job_file))


STACK = replace(
    quic_go.STACK,
    name="regressed",
    summary="for tests: a stack with a history",
    versions=_VERSIONS,
    knobs={},
    install=install,
    installed=installed,
    server_command=server_command,
    client_command=client_command,
)
