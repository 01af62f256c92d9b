"""Threads that are confined ahead of the program that they start."""

import threading

import pytest

from longlook.lab.linux.confine import ConfinedThread


def test_the_work_runs_in_the_thread_that_was_confined() -> None:
    confined: list[int] = []
    thread = ConfinedThread(lambda: confined.append(threading.get_native_id()))
    assert [thread.run(threading.get_native_id)] == confined
    assert confined != [threading.get_native_id()]


def test_nothing_runs_in_a_thread_that_could_not_be_confined() -> None:
    started: list[str] = []

    def refused() -> None:
        raise OSError(1, "refused")

    def work() -> int:
        started.append("work")
        return 1

    with pytest.raises(OSError, match="refused"):
        ConfinedThread(refused).run(work)
    assert started == []


def test_what_the_work_raises_is_raised() -> None:
    def work() -> int:
        raise FileNotFoundError

    with pytest.raises(FileNotFoundError):
        ConfinedThread(lambda: None).run(work)


def test_a_thread_without_work_ends_once_it_is_confined() -> None:
    begun, confined = threading.Event(), threading.Event()

    def confine() -> None:
        begun.wait()
        confined.set()

    thread = ConfinedThread(confine)
    begun.set()
    thread.close()
    assert confined.is_set()


def test_who_joins_it_waits_until_it_is_confined_or_cannot_be() -> None:
    begun, confined = threading.Event(), threading.Event()

    def confine() -> None:
        begun.wait()
        confined.set()
        raise OSError(1, "refused")

    thread = ConfinedThread(confine)
    threading.Timer(0.01, begun.set).start()
    thread.join()
    assert confined.is_set()
    with pytest.raises(OSError, match="refused"):
        thread.run(threading.get_native_id)
