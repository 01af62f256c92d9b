"""The agent: runs trials in a laboratory of its own on this host. Inside a guest, `guest` does the same.

    python -m longlook.lab.agent                 requests and responses as JSON lines on standard input and output
    python -m longlook.lab.agent --job FILE      run the one Job in FILE, leave run.json in its folder, exit

Requests: {"op": "run", "job": {…}} and {"op": "quit"}. Responses: {"event": "hello", "pid": …} once (the pid of the
agent proper as the starter sees it), then for each request {"event": "run", "run": {…}} or {"event": "machine_error" |
"input_error", "message": …, "hint": …}. The exit code is 0, or the code of the last error. When standard input is
closed, everything is killed.
"""

import argparse
import errno
import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longlook.core import InputError, Job, LonglookError, MachineError, codec
from longlook.lab.linux import limit_groups
from longlook.lab.linux.isolation import mount_own, run_isolated
from longlook.lab.linux.users import Claim
from longlook.lab.stale_state import Record, open_record
from longlook.lab.timing import Timing

if TYPE_CHECKING:
    from longlook.lab.laboratory import Laboratory

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def main(arguments: list[str] | None = None) -> int:
    """Run the agent as the module's description says; return its exit code."""
    parser = argparse.ArgumentParser(prog="longlook.lab.agent")
    parser.add_argument("--job", type=Path, help="run this one job, then end")
    options = parser.parse_args(arguments)
    record, users = open_record(), Claim()
    outside = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if options.job is not None:
            request = {"op": "run", "job": _job_data(options.job)}
            requests: Iterable[str] = [json.dumps(request)]
            return run_isolated(lambda: _serve(requests, record, outside, users.first), None, lambda _pid: None)
        return run_isolated(lambda: _serve(sys.stdin, record, outside, users.first), sys.stdin.fileno(), _send_hello)
    except LonglookError as error:
        _send_error(error)
        return error.exit_code
    finally:
        os.close(outside)
        users.close()
        record.close()


def _job_data(file: Path) -> Any:
    """Return the job in a file; its folder is made absolute, emptied of results, and created if it is missing."""
    try:
        data = json.loads(file.read_text())
        folder = Path(data["folder"]).absolute()
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{file} is not a job file: {error}", "docs/guide/debugging.md shows how to make one"
        ) from error
    if (folder / "run.json").exists():
        raise InputError(f"{folder} holds a finished trial", "name an empty folder as the job's `folder`")
    return {**data, "folder": str(folder)}


def _send_hello(pid: int) -> None:
    _send({"event": "hello", "pid": pid})


def _serve(requests: Iterable[str], record: Record, outside: int, first_user: int) -> int:
    """Work through requests; return the exit code of the last error, or 0."""
    from longlook.lab.laboratory import Laboratory  # slow to import: after `hello`, while no request is there yet

    code = 0
    if limit_groups.TASKS not in limit_groups.own_controllers().folders:
        _run_before_programs()
    os.chdir(record.scratch)
    try:
        mount_own()
        os.umask(0o022)  # programs under test are another user, and read some of what is written here
        laboratory = Laboratory(*_folders(Path(record.scratch)), record.marker, Timing(), outside, first_user)
        for line in requests:
            request = json.loads(line)
            if request["op"] == "quit":
                break
            code = _attempt(laboratory, codec.decode(Job, request["job"]))
        laboratory.close()
    except LonglookError as error:
        _send_error(error)
        return error.exit_code
    return code


def _run_before_programs() -> None:
    """Let this process run before programs, if that is allowed: otherwise a fork bomb would keep it
    from counting them.
    """
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def _folders(scratch: Path) -> tuple[Path, Path]:
    """Make the programs' folder and the laboratory's private one in its scratch folder, and return both."""
    programs, private = scratch / "programs", scratch / "private"
    for folder in (programs, private):
        folder.mkdir(mode=0o700)
    scratch.chmod(0o711)
    return programs, private


def _attempt(laboratory: "Laboratory", job: Job) -> int:
    try:
        _send({"event": "run", "run": codec.encode(laboratory.run(job))})
    except LonglookError as error:
        _send_error(error)
        return error.exit_code
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        place = error.filename or job.folder
        full = MachineError(f"the disk of {place} is full", "make room, then run again with --resume")
        _send_error(full)
        return full.exit_code
    return 0


def _send_error(error: LonglookError) -> None:
    kind = "input_error" if isinstance(error, InputError) else "machine_error"
    _send({"event": kind, "message": error.message, "hint": error.hint})


def _send(response: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(response) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
