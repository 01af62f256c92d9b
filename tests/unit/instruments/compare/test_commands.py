"""Two commands behind one link: the rounds that count, the answer, and what is refused before anything runs."""

import math
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core import InputError
from longlook.instruments.compare.commands import (
    FEWEST,
    HOPELESS,
    SIDES,
    CommandRun,
    CommandSpec,
    RunEnd,
    _last_words,
    as_run,
    judged,
    link_command,
    run_commands,
)
from longlook.instruments.compare.commands_show import answer_of, write_rounds
from longlook.instruments.compare.gate import GateAnswer
from longlook.instruments.compare.spec import are_commands

NETWORK = "10mbit,36ms"
SPEC = CommandSpec("a x", "b x", {NETWORK: {"network.rate": "10mbit", "network.rtt": "36ms"}}, gate_pct=5.0)
SUMMARY = {"error": None, "disturbed": False, "doubts": [], "exit_code": 0, "duration_s": 0.25}
WAYS = {"up": {"delivered_bytes": 10}, "down": {"delivered_bytes": 20}}


def rounds(slower: float, count: int = 12, **ends: RunEnd) -> list[CommandRun]:
    """Runs whose contender takes `slower` times as long; round 1 of a side may end in another way."""
    return [
        CommandRun(
            NETWORK,
            number,
            side,
            ends.get(side, RunEnd.OK) if number == 1 else RunEnd.OK,
            (0.5 + 0.005 * math.sin(number * 7)) * (1 if side == "baseline" else slower + 0.004 * math.cos(number * 5)),
            0,
            10,
            20,
        )
        for number in range(1, count + 1)
        for side in SIDES
    ]


@pytest.mark.parametrize(
    ("slower", "answer"),
    [(1.0, GateAnswer.PASSED), (0.8, GateAnswer.PASSED), (1.2, GateAnswer.WORSE), (1.05, GateAnswer.UNDECIDED)],
)
def test_the_interval_decides(slower: float, answer: GateAnswer) -> None:
    case = judged(SPEC, NETWORK, rounds(slower))
    assert case.answer is answer, case.reason
    assert case.rounds == 12 and case.effect_pct is not None
    assert case.effect_pct == pytest.approx(100 * (1 - slower), abs=1.0)


def test_a_round_in_which_the_link_was_disturbed_is_left_out_and_counted() -> None:
    case = judged(SPEC, NETWORK, rounds(1.0, contender=RunEnd.INVALID))
    assert (case.rounds, case.invalid, case.failed["contender"], case.answer) == (11, 1, 0, GateAnswer.PASSED)


def test_a_command_that_alone_fails_cannot_pass() -> None:
    case = judged(SPEC, NETWORK, rounds(1.0, contender=RunEnd.FAILED))
    assert case.answer is GateAnswer.UNDECIDED and "the contender alone failed in 1 rounds" in case.reason
    assert judged(SPEC, NETWORK, rounds(1.0, baseline=RunEnd.FAILED)).answer is GateAnswer.PASSED


def test_a_contender_that_is_slower_is_worse_even_if_it_failed_too() -> None:
    case = judged(SPEC, NETWORK, rounds(1.2, contender=RunEnd.FAILED))
    assert case.answer is GateAnswer.WORSE and case.reason.startswith("worse: −20 %"), case.reason


def test_the_failure_that_is_named_is_of_the_same_network() -> None:
    elsewhere = replace(rounds(1.0)[0], network="slow", end=RunEnd.FAILED, reason="exit code 9")
    assert "exit code 9" not in judged(SPEC, NETWORK, [elsewhere, *rounds(1.0, FEWEST - 1)]).reason


def test_of_what_a_command_prints_the_end_is_kept() -> None:
    code = "import sys; sys.stderr.write('x' * 3_000_000 + 'the end'); print('y' * 1_000_000); sys.exit(3)"
    exit_code, said = _last_words([sys.executable, "-c", code])
    assert exit_code == 3 and said.endswith(b"xthe end") and len(said) <= 1 << 16


def test_too_few_rounds_pass_nothing_and_the_first_failure_is_said() -> None:
    few = judged(SPEC, NETWORK, rounds(1.0, FEWEST - 1))
    assert few.answer is GateAnswer.UNMEASURED and f"{FEWEST} needed" in few.reason
    none = [as_run(NETWORK, 1, side, SUMMARY | WAYS | {"exit_code": 7}, b"curl: (7) no route\n", 9.0) for side in SIDES]
    case = judged(SPEC, NETWORK, none)
    assert case.reason.endswith("round 1, baseline: exit code 7: curl: (7) no route")
    assert answer_of([few, case]) is GateAnswer.UNMEASURED


@pytest.mark.parametrize(
    ("changed", "end", "reason"),
    [
        ({}, RunEnd.OK, ""),
        ({"exit_code": 124}, RunEnd.FAILED, "ended after 9 s"),
        ({"exit_code": 3}, RunEnd.FAILED, "exit code 3: bad"),
        ({"disturbed": True, "doubts": ["it stood still"], "exit_code": 3}, RunEnd.INVALID, "it stood still"),
        ({"error": "the router ended", "disturbed": False}, RunEnd.INVALID, "the router ended"),
    ],
)
def test_a_disturbed_link_comes_before_what_the_command_did(
    changed: dict[str, object], end: RunEnd, reason: str
) -> None:
    run = as_run(NETWORK, 1, "baseline", SUMMARY | WAYS | changed, b"worse\nbad\n", 9.0)
    assert (run.end, run.reason, run.sent_bytes, run.received_bytes) == (end, reason, 10, 20)


def test_both_commands_of_a_round_meet_the_same_link(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: dict[int, set[int]] = {}
    orders: dict[int, list[str]] = {}

    def run(_spec: CommandSpec, network: str, number: int, side: str, seed: int, _file: Path) -> CommandRun:
        seeds.setdefault(number, set()).add(seed)
        orders.setdefault(number, []).append(side)
        end = RunEnd.INVALID if number == 2 else RunEnd.OK
        return CommandRun(network, number, side, end, 0.5 + number / 1000, 0, 0, 0)

    monkeypatch.setattr("longlook.instruments.compare.commands._run", run)
    (case,) = run_commands(SPEC, lambda _run: None)
    assert all(len(found) == 1 for found in seeds.values()) and len({*map(tuple, seeds.values())}) == len(seeds)
    assert {tuple(order) for order in orders.values()} == {SIDES, SIDES[::-1]}
    assert len(seeds) == SPEC.rounds + 1 and (case.rounds, case.invalid) == (SPEC.rounds, 1)


def test_a_comparison_in_which_nothing_can_be_compared_ends_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "longlook.instruments.compare.commands._run",
        lambda _spec, network, number, side, _seed, _file: CommandRun(
            network, number, side, RunEnd.FAILED, 0.1, 127, 0, 0, "exit code 127: not found"
        ),
    )
    runs: list[CommandRun] = []
    (case,) = run_commands(SPEC, runs.append)
    assert len(runs) == HOPELESS * len(SIDES) and case.answer is GateAnswer.UNMEASURED
    assert "exit code 127: not found" in case.reason


def test_the_link_gets_the_settings_and_the_shell_gets_the_command() -> None:
    words = link_command(SPEC, NETWORK, 7, Path("/f"), "echo '$HOME'; exit 3")
    assert words[words.index("--seed") + 1] == "7"
    assert [words[place + 1] for place, word in enumerate(words) if word == "--set"] == ["rate=10mbit", "rtt=36ms"]
    assert words[-3:] == ["/bin/sh", "-c", "echo '$HOME'; exit 3"] and "--server" not in words


def test_sides_are_stacks_or_commands_and_never_one_of_each() -> None:
    assert are_commands("curl -s x", "wget -q x") and are_commands("true", "false")
    assert not are_commands("quic-go", "quiche@0.28.0") and not are_commands("quic-go@./a b", "caddy:h2")
    assert not are_commands("echo", "nothing-like-this")  # echo is a stack, and the other one's error names it
    with pytest.raises(InputError, match=r"'quic-go' is no command"):
        are_commands("curl -s x", "quic-go")


def test_every_round_is_in_a_file_that_no_spreadsheet_runs(tmp_path: Path) -> None:
    file = tmp_path / "rounds.csv"
    write_rounds([CommandRun(NETWORK, 1, "baseline", RunEnd.FAILED, 0.5, 1, 0, 0, "=cmd()")], file)
    header, row = file.read_text().splitlines()
    assert header.startswith("network,round,side,end,elapsed_s") and row.endswith("'=cmd()")
