"""Sleeps over and over on one CPU and measures how late it wakes up: a program of tests.support.realtime.

It is called with the number of the CPU and the time to sleep in seconds. For each byte of its input it prints the
longest lateness since the last one, in seconds; it ends with its input.
"""

import os
import select
import sys
import time
from contextlib import suppress


def main(cpu: int, period_s: float) -> None:
    """Sleep and answer."""
    os.sched_setaffinity(0, {cpu})
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    longest_s = 0.0
    while True:
        began_s = time.monotonic()
        asked, _, _ = select.select([0], [], [], period_s)
        if not asked:
            longest_s = max(longest_s, time.monotonic() - began_s - period_s)
        elif os.read(0, 1):
            os.write(1, f"{longest_s}\n".encode())
            longest_s = 0.0
        else:
            return


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
