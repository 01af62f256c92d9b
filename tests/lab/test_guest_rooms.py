"""Rooms of programs in a guest, made here in a mount namespace of a process of its own."""

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from longlook.lab.linux import system
from longlook.lab.linux.confine import Confinement
from longlook.lab.linux.guest_rooms import GuestRooms
from longlook.lab.linux.program_view import RoomSize

SIZE = RoomSize(1 << 20, 100)
PROGRAMS = 5
_TOP = Path("/mnt")


def _open() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def _refuse(_: object) -> int:
    raise FileNotFoundError(2, "no such program")


def _as_the_guest(results: Connection, work: Callable[[GuestRooms], list[int]]) -> None:
    system.unshare(system.CLONE_NEWNS)
    system.mount("none", "/", None, system.MS_REC | system.MS_PRIVATE)
    system.mount("guest", str(_TOP), "tmpfs", 0)  # outside the places that rooms replace
    home, stage = _TOP / "home", _TOP / "stage"
    for folder in (home, stage):
        folder.mkdir()
    results.send(work(GuestRooms(home, stage)))


def _made(work: Callable[[GuestRooms], list[int]]) -> list[int]:
    ours, theirs = multiprocessing.Pipe()
    guest = multiprocessing.get_context("fork").Process(target=_as_the_guest, args=(theirs, work))
    guest.start()
    theirs.close()
    found: list[int] = ours.recv()
    guest.join()
    return found


def _waiting(rooms: GuestRooms) -> list[int]:
    first = rooms.make((), None, SIZE)
    before = _open()
    for _ in range(PROGRAMS):
        rooms.make((), None, SIZE)
    first.close()
    return [_open() - before]


def _never_started(rooms: GuestRooms) -> list[int]:
    rooms.make((), None, SIZE).close()
    before = _open()
    confinement = Confinement(None, {}, rooms=rooms.make((), None, SIZE))
    confinement.close()
    confinement.close()
    return [_open() - before]


def _refused(rooms: GuestRooms) -> list[int]:
    rooms.make((), None, SIZE).close()
    before = _open()
    confinement = Confinement(None, {}, rooms=rooms.make((), None, SIZE))
    network = system.network_namespace()
    with pytest.raises(FileNotFoundError):
        confinement.start(["none"], _refuse, network)
    os.close(network)
    confinement.close()
    return [_open() - before]


def test_programs_that_wait_for_their_start_share_the_way_back() -> None:
    (more,) = _made(_waiting)
    assert more == 5 * (PROGRAMS - 1), "two namespaces, root, working directory and the room of each"


@pytest.mark.parametrize("work", [_never_started, _refused])
def test_a_program_that_does_not_run_leaves_nothing_open(work: Callable[[GuestRooms], list[int]]) -> None:
    assert _made(work) == [0]
