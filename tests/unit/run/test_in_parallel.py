"""Work at once, and its end by an interrupt."""

import signal
import threading
import time
from collections.abc import Iterator

import pytest

from longlook.run.execute import in_parallel

WITHIN_S = 30.0


def test_everything_is_run() -> None:
    done: list[int] = []
    for jobs in (1, 3):
        in_parallel(range(5), done.append, jobs, lambda: None)
        assert sorted(done) == [0, 1, 2, 3, 4]
        done.clear()


def test_an_interrupt_while_work_is_handed_out_ends_what_has_begun() -> None:
    begun, stopped = threading.Event(), threading.Event()

    def run(_piece: int) -> None:
        begun.set()
        assert stopped.wait(WITHIN_S), "nobody ended what was under way"

    def work() -> Iterator[int]:
        yield 0
        assert begun.wait(WITHIN_S)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_parallel(work(), run, 2, stopped.set)
    assert stopped.is_set()


def test_a_signal_that_wakes_nobody_is_heard_while_work_has_no_end() -> None:
    """Whichever thread the signal reaches, its handler runs in the main one, which may be about to sleep."""

    def heard(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    stopped = threading.Event()

    def run(_piece: int) -> None:
        time.sleep(0.2)  # the main thread sleeps by now; if it does not, this proves less
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        assert stopped.wait(WITHIN_S), "nobody heard the signal"

    before = signal.signal(signal.SIGUSR1, heard)
    try:
        with pytest.raises(KeyboardInterrupt):
            in_parallel(range(1), run, 2, stopped.set)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert stopped.is_set()


def test_the_first_failure_ends_what_is_under_way() -> None:
    begun, stopped = threading.Event(), threading.Event()

    def run(piece: int) -> None:
        if piece == 0:
            assert begun.wait(WITHIN_S)
            raise ValueError("broken")
        begun.set()
        assert stopped.wait(WITHIN_S), "nobody ended what was under way"

    with pytest.raises(ValueError, match="broken"):
        in_parallel(range(2), run, 2, stopped.set)
