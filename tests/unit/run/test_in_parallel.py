"""Work at once, and its end by an interrupt."""

import threading
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
