"""Which trials share a boot: those of a round with one warm client, where each boot starts afresh."""

from dataclasses import replace

import pytest

from longlook.core.model import Capture, Endpoint, Trial
from longlook.run.execute import batches
from tests.data.trials import TRIAL


def trial(name: str, number: int = 0, client: str = "chromium", **changes: object) -> Trial:
    return replace(TRIAL, id=name, round=number, client=Endpoint(client, "system"), **changes)  # type: ignore[arg-type]


def ids(trials: list[Trial], *, in_batches: bool = True) -> list[list[str]]:
    return [[trial.id for trial in batch] for batch in batches(trials, in_batches=in_batches)]


def test_trials_of_a_round_share_a_warm_browser() -> None:
    trials = [trial("a"), trial("b"), trial("c", 1), trial("d", 1)]
    assert ids(trials) == [["a", "b"], ["c", "d"]]


def test_plain_clients_stay_alone() -> None:
    assert ids([trial("a", client="quic-go"), trial("b", client="quic-go")]) == [["a"], ["b"]]


def test_an_engine_that_does_not_gather_takes_one_at_a_time() -> None:
    assert ids([trial("a"), trial("b")], in_batches=False) == [["a"], ["b"]]


@pytest.mark.parametrize("other", [trial("b", capture=Capture(keylog=True)), trial("b", client="quic-go")])
def test_what_cannot_share_a_client_does_not(other: Trial) -> None:
    assert ids([trial("a"), other, trial("c")]) == [["a", "c"], ["b"]]


def test_every_trial_is_in_one_batch_in_the_order_of_the_plan() -> None:
    trials = [trial(str(number), number % 3, "chromium" if number % 2 else "quic-go") for number in range(20)]
    found = ids(trials)
    assert sorted(name for batch in found for name in batch) == sorted(trial.id for trial in trials)
    assert all(batch == sorted(batch, key=int) for batch in found)
    assert [int(batch[0]) for batch in found] == sorted(int(batch[0]) for batch in found)


def test_nothing_gives_nothing() -> None:
    assert batches([], in_batches=True) == []
