"""Threads that are confined ahead of time: what they start later is confined from its first moment.

Users, capabilities, namespaces, control groups and filters of system calls belong to a thread in Linux, and what a
thread starts inherits them. To confine one takes 15 ms and more, most of which is waiting: for a new process, and for
the kernel, which lets every CPU pass a quiet moment before a thread changes its control group.
"""

import _thread
from collections.abc import Callable
from queue import SimpleQueue


class ConfinedThread:
    """A thread that runs `confine` at once, then one piece of work as soon as it is given, and ends."""

    def __init__(self, confine: Callable[[], None]) -> None:
        self._confine = confine
        self._work: SimpleQueue[Callable[[], int] | None] = SimpleQueue()
        self._results: SimpleQueue[int | BaseException] = SimpleQueue()
        self._confining = _thread.allocate_lock()
        self._confining.acquire()
        _thread.start_new_thread(self._run, ())

    def join(self) -> None:
        """Wait until it is confined, or has failed to be, which `run` then raises."""
        with self._confining:
            pass

    def run(self, work: Callable[[], int]) -> int:
        """Run the one piece of work in the thread; return its result, or raise its exception or that of `confine`."""
        result = self._finish(work)
        if isinstance(result, BaseException):
            raise result
        return result

    def close(self) -> None:
        """End the thread without work, once it is confined, or has failed to be."""
        self._finish(None)

    def _finish(self, work: Callable[[], int] | None) -> int | BaseException:
        self._work.put(work)
        return self._results.get()

    def _run(self) -> None:
        try:
            try:
                self._confine()
            finally:
                self._confining.release()
            work = self._work.get()
            self._results.put(0 if work is None else work())
        except BaseException as error:
            self._results.put(error)
