"""Classes of time by the trace of the end that receives, and traces of both kinds through the command."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from longlook.cli import app
from longlook.instruments.transfer.classes import TimeClass
from longlook.instruments.transfer.reading import read_trace
from tests.unit.instruments.transfer.recordings import (
    acknowledgement,
    arrived,
    causes,
    explained,
    flights,
    sent,
    share,
    written,
)

QLOGS = Path(__file__).parents[3] / "fixtures" / "qlogs"


def test_flights_a_round_trip_after_acknowledgements_are_a_sender_with_a_full_window(tmp_path: Path) -> None:
    events = [sent(0, 0, 60), acknowledgement(40, 900, 0, 0)]
    for flight in range(10):
        at = 40 + flight * 41.0
        events += [arrived(at + 0.1 * place, flight * 10 + place, offset=0) for place in range(10)]
        events.append(sent(at + 1, flight + 1, 40))
    answer = explained(tmp_path / "a.sqlog", events, "client")
    assert share(answer, TimeClass.CONGESTION_WINDOW) > 0.8
    assert any("alone" in sentence for sentence in answer.rests_on)


def test_data_that_comes_steadily_is_no_pause(tmp_path: Path) -> None:
    events = [sent(0, 0, 60), *(arrived(20 + place, place) for place in range(500))]
    answer = explained(tmp_path / "a.sqlog", events, "client")
    assert share(answer, TimeClass.ARRIVING) > 0.9


def test_numbers_that_did_not_arrive_are_losses_by_the_receivers_record(tmp_path: Path) -> None:
    events = [sent(0, 0, 60), acknowledgement(20, 9_000, 0, 0)]
    for flight in range(10):
        events += [arrived(20 + flight * 100 + place, flight * 12 + place) for place in range(10)]
    answer = explained(tmp_path / "a.sqlog", events, "client")
    assert answer.path.lost_packets == 18
    assert share(answer, TimeClass.TIMER) > 0.7
    assert "random_loss_response" in causes(answer)


def test_the_command_explains_a_real_trace_and_draws_it(tmp_path: Path) -> None:
    picture = tmp_path / "a.svg"
    trace = str(QLOGS / "quiche-0.22.0.qlog.gz")
    done = CliRunner().invoke(app, ["explain", trace, "--json", "--picture", str(picture)])
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout.splitlines()[0])
    longest = max(answer["classes"], key=lambda each: each["ns"])
    assert longest["class"] == "timer"  # its probes leave 216, 432, 862 and 1,720 ms after each other
    assert [each["cause"] for each in answer["suspicions"]] == ["rto_backoff"]
    assert "cut" in " ".join(answer["problems"])
    assert picture.read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--connection", "7"], "has 1 connections"),
        (["--vantage", "middle"], "no such end"),
        (["--picture", "a.gif"], "no kind of picture"),
        (["--contrast", "a vs b"], "are for a run"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(tmp_path: Path, arguments: list[str], reason: str) -> None:
    trace = written(tmp_path / "a.sqlog", flights(rtt_ms=5, window=10, count=3))
    done = CliRunner().invoke(app, ["explain", str(trace), *arguments])
    assert done.exit_code == 2 or reason in str(done.exception)
    assert reason in done.output + str(done.exception)


@pytest.mark.parametrize(("end", "is_said"), [("client", True), ("server", False)])
def test_an_end_that_the_trace_contradicts_is_said_to_be_unused(tmp_path: Path, end: str, is_said: bool) -> None:
    trace = written(tmp_path / "a.sqlog", flights(rtt_ms=5, window=10, count=3), "server")
    found = read_trace(trace, end, None)
    assert found.end == "server"
    assert any(f"--vantage {end} is for" in problem for problem in found.problems) is is_said
