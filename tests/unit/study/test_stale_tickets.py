"""Rounds in which a client's ticket is stale."""

from pathlib import Path

from syrupy.assertion import SnapshotAssertion

from longlook.core.model import ConnectionState, Plan
from longlook.study.plan import make_plan
from tests.data.studies import CATALOGUE, problems, read, study_file

QUIC = '[arms.quic]\nprotocol = "h3"\nconnection = "cold"'
ZERO_RTT = '[arms.quic]\nprotocol = "h3"\nconnection = "0rtt"'
ROUNDS = ("rounds = 3", "rounds = 400")


def planned(folder: Path, *replacements: tuple[str, str]) -> Plan:
    return make_plan(read(study_file(folder, *replacements)), ("rate=10Mbit",), CATALOGUE)


def cold_rounds(plan: Plan, arm: str, size: str = "small") -> set[int]:
    own = [trial for trial in plan.trials if trial.arm == arm and trial.cell["size"] == size]
    assert len(own) == 400
    return {trial.round for trial in own if trial.connection is ConnectionState.COLD}


def test_a_share_of_the_rounds_is_cold_and_a_larger_share_contains_a_smaller_one(tmp_path: Path) -> None:
    second = '[arms.quic-more]\nprotocol = "h3"\nconnection = "0rtt"\nstale_tickets = "40%"'
    more = f'{ZERO_RTT}\nstale_tickets = "10%"\n\n{second}'
    plan = planned(tmp_path, ROUNDS, (QUIC, more))
    few, many = cold_rounds(plan, "quic"), cold_rounds(plan, "quic-more")
    assert few < many
    assert 25 < len(few) < 55  # of the study's seed
    assert 130 < len(many) < 190
    assert cold_rounds(plan, "quic", "large") == few


def test_bounds_are_never_and_always(tmp_path: Path) -> None:
    assert cold_rounds(planned(tmp_path, ROUNDS, (QUIC, f'{ZERO_RTT}\nstale_tickets = "100%"')), "quic") == set(
        range(400)
    )
    without = planned(tmp_path, ROUNDS, (QUIC, ZERO_RTT))
    assert planned(tmp_path, ROUNDS, (QUIC, f'{ZERO_RTT}\nstale_tickets = "0%"')) == without


def test_a_round_with_a_stale_ticket_is_the_trial_of_a_cold_arm(tmp_path: Path) -> None:
    def ids(plan: Plan) -> list[str]:
        return [trial.id for trial in plan.trials if trial.arm == "quic"]

    cold, stale = planned(tmp_path), planned(tmp_path, (QUIC, f'{ZERO_RTT}\nstale_tickets = "100%"'))
    assert ids(cold) == ids(stale)
    assert not set(ids(cold)) & set(ids(planned(tmp_path, (QUIC, ZERO_RTT))))


def test_a_cold_arm_has_no_ticket_and_a_share_is_a_share(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (line,) = problems(study_file(tmp_path, (QUIC, f'{QUIC}\nstale_tickets = "10%"')))
    assert "stale_tickets" in line
    assert line == snapshot
    (line,) = problems(study_file(tmp_path, (QUIC, f'{ZERO_RTT}\nstale_tickets = "120%"')))
    assert "between 0% and 100%" in line
