"""Limits of this process that are lowered for the start of a program, beside compartments that are still made."""

import resource
from threading import Event
from unittest.mock import Mock

from longlook.lab.linux import compartment
from longlook.lab.linux.confine import ConfinedThread, Confinement, Spawn, _Ahead

MOST_FILES = 32


def _most_files() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def test_no_first_process_is_started_under_the_limits_of_a_program() -> None:
    """They are the whole process's while they are lowered: a compartment that starts one then would be refused it."""
    before, while_confined, waited_for = _most_files(), list[int](), Event()

    def confine() -> None:
        assert waited_for.wait(60)  # the program is to be started meanwhile
        with compartment.FORKING:
            while_confined.append(_most_files())

    def spawn(_: Spawn) -> int:
        assert _most_files() == MOST_FILES
        assert compartment.FORKING.locked()
        return 0

    class Thread(ConfinedThread):
        def join(self) -> None:
            waited_for.set()
            super().join()

    ahead = _Ahead(Thread(confine), [Mock()], None)
    confinement = _Unlimited(None, {resource.RLIMIT_NOFILE: MOST_FILES}, _ahead=[ahead])
    confinement.start(["true"], spawn, -1)
    assert while_confined == [before]
    assert _most_files() == before


class _Unlimited(Confinement):
    """It starts no process whose hard limits could be lowered."""

    def _limited(self, pid: int) -> int:
        return pid
