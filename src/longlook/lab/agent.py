"""The agent: runs trials in a laboratory of its own on this host (`guest.py` is its like inside a guest).

    python -m longlook.lab.agent                 orders and answers as JSON lines on standard input and output
    python -m longlook.lab.agent --job FILE      run the one Job in FILE, leave run.json in its folder, end

Orders: {"op": "run", "job": {…}} and {"op": "quit"}. Answers: {"event": "hello", "pid": …} once (the agent proper, seen
from outside), {"event": "run", "run": {…}} or {"event": "machine_error" | "input_error", "message": …, "hint": …}.
Exit code: 0, or that of the error. When standard input is closed, everything is killed.
"""

import argparse
import errno
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longlook.core import codec
from longlook.core.errors import InputError, LonglookError, MachineError
from longlook.core.job import Job
from longlook.lab.linux.isolation import mount_own, run_isolated
from longlook.lab.stale_state import Record, open_record
from longlook.lab.timing import Timing

if TYPE_CHECKING:
    from longlook.lab.laboratory import Laboratory

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def main(arguments: list[str] | None = None) -> int:
    """Entry point; see the module's description."""
    parser = argparse.ArgumentParser(prog="longlook.lab.agent")
    parser.add_argument("--job", type=Path, help="run this one job, then end")
    options = parser.parse_args(arguments)
    record = open_record()
    try:
        if options.job is not None:
            order = {"op": "run", "job": json.loads(options.job.read_text())}
            return run_isolated(lambda: _serve([json.dumps(order)], record), None, lambda _pid: None)
        return run_isolated(lambda: _serve(sys.stdin, record), sys.stdin.fileno(), _say_hello)
    except LonglookError as error:
        _answer_error(error)
        return error.exit_code
    finally:
        record.close()


def _say_hello(pid: int) -> None:
    _answer({"event": "hello", "pid": pid})


def _serve(orders: Iterable[str], record: Record) -> int:
    """Work through orders; the exit code of the last error, or 0."""
    from longlook.lab.laboratory import Laboratory  # slow to import: after `hello`, while no order is there yet

    code = 0
    os.chdir(record.scratch)
    try:
        mount_own()
        laboratory = Laboratory(Path(record.scratch), record.marker, Timing())
        for line in orders:
            order = json.loads(line)
            if order["op"] == "quit":
                break
            code = _attempt(laboratory, codec.decode(Job, order["job"]))
        laboratory.close()
    except LonglookError as error:
        _answer_error(error)
        return error.exit_code
    return code


def _attempt(laboratory: "Laboratory", job: Job) -> int:
    try:
        _answer({"event": "run", "run": codec.encode(laboratory.run(job))})
    except LonglookError as error:
        _answer_error(error)
        return error.exit_code
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        place = error.filename or job.folder
        full = MachineError(f"the disk of {place} is full", "make room, then run again with --resume")
        _answer_error(full)
        return full.exit_code
    return 0


def _answer_error(error: LonglookError) -> None:
    kind = "input_error" if isinstance(error, InputError) else "machine_error"
    _answer({"event": kind, "message": error.message, "hint": error.hint})


def _answer(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
