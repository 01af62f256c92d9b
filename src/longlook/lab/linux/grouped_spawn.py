"""Starts a process that enters control groups of version 2 by itself, where no shell can do that for it."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

from longlook.lab.linux.confine import Spawn


def spawn_in_groups(
    way: Spawn, env: Mapping[str, str], streams: tuple[int, int, int], usual: Sequence[signal.Signals]
) -> int:
    """Start a program as the leader of a session and return its pid; the caller reaps it.

    `streams` are its standard input, output and error; `usual` are signals that do to it what they do by default. Raise
    OSError if it cannot be executed.
    """

    def enter() -> None:
        for entry in way.enters:
            os.write(entry, b"0")
        for number in usual:
            signal.signal(number, signal.SIG_DFL)

    own_in, own_out, own_error = streams
    process = subprocess.Popen(
        way.argv,
        env=env,
        stdin=own_in,
        stdout=own_out,
        stderr=own_error,
        start_new_session=True,
        preexec_fn=enter,  # noqa: PLW1509 (only a process of version 2 enters, and no other thread of ours forks now)
    )
    process.returncode = 0  # else the interpreter would reap it
    return process.pid
