"""Checks that need no link: a single server on loopback, and how it ends."""

import json
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from typing import Any

from longlook.core import EITHER, Content, Program, ServerJob
from longlook.instruments.conformance.checks import CheckResult, CheckStatus
from longlook.instruments.conformance.subject import Subject
from longlook.provision import tls

_READY_WITHIN_S = 30.0
_ENDS_WITHIN_S = 1.0
_GIVES_UP_S = 10.0
_TRIES = 2  # the machine may be busy with something else during the first


def lone_server(subject: Subject, program: Program, content: Content) -> Iterator[CheckResult]:
    """Yield for each protocol whether SIGTERM ends an idle server with exit code 0 within a second.

    Nothing of an image: its program runs in its own root alone, and the laboratory ends its processes as a group. A
    program of sources, for which nobody vouches, is not started here, since nothing confines it outside of a trial.
    """
    if subject.stack.server_command is None or subject.stack.of_images:
        return
    own = subject.stack.protocols_of(subject.version)
    for protocol in (*own, *([EITHER.name] if subject.stack.speaks(subject.version, EITHER.name) else [])):
        name = f"SIGTERM over {protocol} (server)"
        if subject.version not in subject.stack.version_names:
            yield CheckResult(
                name, CheckStatus.NOT_APPLICABLE, "a program of sources runs in trials alone, where it is confined"
            )
            continue
        found = [_stopped(subject, program, content, protocol)]
        if found[0][0] is CheckStatus.FAILED and found[0][2]:
            found = [_stopped(subject, program, content, protocol) for _ in range(_TRIES - 1)]
        status, text, _late = found[-1]
        yield CheckResult(name, status, text)


def _stopped(subject: Subject, program: Program, content: Content, protocol: str) -> tuple[CheckStatus, str, bool]:
    """Return the status, what was observed, and whether the only fault is that it ended late."""
    make = subject.stack.server_command
    assert make is not None  # noqa: S101 lone_server has checked it
    job = ServerJob(protocol, "127.0.0.1", 0, content.root, tls.identity(), {})
    command = make(program, job)
    process = subprocess.Popen(
        command.argv,
        env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **command.env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        first = _first_line(process)
        if first.get("event") != "ready":
            return CheckStatus.FAILED, f"it did not become ready: {first.get('reason', 'it printed nothing')}", False
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=_GIVES_UP_S)
        took_s = time.monotonic() - began
    except subprocess.TimeoutExpired:
        return CheckStatus.FAILED, f"still running {_GIVES_UP_S:g} s after SIGTERM", False
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    late = took_s > _ENDS_WITHIN_S
    holds = process.returncode == 0 and not late
    return CheckStatus.PASSED if holds else CheckStatus.FAILED, f"exit {process.returncode} after {took_s:.2f} s", late


def _first_line(process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    """Return the first line of standard output, {} if none comes in time or it is not JSON."""
    if process.stdout is None or not select.select([process.stdout], [], [], _READY_WITHIN_S)[0]:
        return {}
    try:
        line = json.loads(process.stdout.readline())
    except ValueError:
        return {}
    return line if isinstance(line, dict) else {}
