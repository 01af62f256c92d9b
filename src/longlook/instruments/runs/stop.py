"""End a run of another process as Ctrl-C does: finished trials stay."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from longlook.core import InputError, MachineError
from longlook.instruments.runs.detached import log_of
from longlook.instruments.runs.holder import Holder, holder_of, holder_of_file
from longlook.instruments.runs.listing import ListedRun, State, read_run
from longlook.terminal import quoted

_LOOKS_EVERY_S = 0.1
_CAUGHT = "SigCgt:"


@dataclass(frozen=True)
class Stopped:
    """A run that was stopped. `listed` is None if it had not made its folder."""

    run: Path
    pid: int
    listed: ListedRun | None

    @property
    def go_on(self) -> str | None:
        """The command that goes on with it; None if nothing is left to do, or nothing is there."""
        if self.listed is None or self.listed.state is not State.STOPPED:
            return None
        return _go_on(self.run)


def stop(run: Path, wait_s: float) -> Stopped:
    """Ask the process that writes to a run to end, and wait until it has.

    InputError if no process of this machine does; MachineError if the process may not be signalled, or has not ended
    after `wait_s`.
    """
    file, holder = _writer(run)
    process = _opened(holder, file)
    try:
        signal.pidfd_send_signal(process, _signal_for(holder.pid))
    except PermissionError as error:
        hint = f"sudo longlook stop {quoted(run)}"
        raise MachineError(f"process {holder.pid} belongs to another user", hint) from error
    except ProcessLookupError:
        pass  # it ended meanwhile
    finally:
        os.close(process)
    deadline = time.monotonic() + wait_s
    while holder_of_file(file) is not None:
        if time.monotonic() > deadline:
            hint = f"wait: longlook watch {quoted(run)}; or kill -9 {holder.pid}, after which finished trials stay too"
            raise MachineError(f"process {holder.pid} has not ended after {wait_s:g} s", hint)
        time.sleep(_LOOKS_EVERY_S)
    return Stopped(run, holder.pid, read_run(run))


def _go_on(run: Path) -> str:
    return f"longlook run {quoted(run)} --resume {quoted(run)}"


def _writer(run: Path) -> tuple[Path, Holder]:
    """Return the file by whose lock a process is known to write to a run, and the process."""
    for file, holder in ((run / ".lock", holder_of(run)), (log_of(run), holder_of_file(log_of(run)))):
        if holder is not None:
            return file, holder
    listed = read_run(run) if run.is_dir() else None
    if listed is None:
        raise InputError(f"{run} is not a run folder", "longlook runs lists those below runs/")
    what = "complete" if listed.state is State.COMPLETE else f"at {listed.finished} of {listed.trials} trials"
    hint = f"go on: {_go_on(run)}" if listed.state is State.STOPPED else None
    raise InputError(f"{run} is not running on this machine; it is {what}", hint)


def _opened(holder: Holder, file: Path) -> int:
    """Return a descriptor of the process, which from now on cannot be another one that got its number.

    MachineError unless the process has the locked file open.
    """
    hint = "end it in its own terminal or container"
    if not holder.pid:
        raise MachineError(f"{file.parent} is in use by a process that cannot be seen from here", hint)
    try:
        process = os.pidfd_open(holder.pid)
    except OSError as error:
        raise MachineError(f"process {holder.pid}, which has {file}, is not to be found", hint) from error
    try:
        is_it = any(_same(each, file) for each in Path(f"/proc/{holder.pid}/fd").iterdir())
    except OSError as error:
        os.close(process)
        message = f"process {holder.pid} belongs to another user, or has ended"
        raise MachineError(message, "look again: longlook runs; or use sudo") from error
    if not is_it:
        os.close(process)
        raise MachineError(f"process {holder.pid} does not have {file} open, and is left alone", hint)
    return process


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _signal_for(pid: int) -> signal.Signals:
    """Return SIGINT if the process handles it, as every shell's Ctrl-C does; SIGTERM if it ignores that (nohup, &)."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return signal.SIGTERM
    caught = next((int(line.removeprefix(_CAUGHT), 16) for line in lines if line.startswith(_CAUGHT)), 0)
    return signal.SIGINT if caught >> (signal.SIGINT - 1) & 1 else signal.SIGTERM
