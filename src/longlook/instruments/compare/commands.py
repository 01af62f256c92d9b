"""Two commands behind one emulated link, round by round: which of them ends sooner?

Each round runs both, in an order that the seed draws, over a link whose random numbers are the same for both. It runs
in real time: `longlook link` is started anew for each run, so that nothing of one is left for the next. A run is
repeated if the link itself was disturbed, and a round in which a command fails is counted and never compared.
"""

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from longlook.analysis import Floats, compare_arrays, fails_more, interval_side
from longlook.core import OF_TIMES, Analysis, Better, Effect, MachineError, Metric, Quantity, Scalar
from longlook.instruments.compare.gate import ANSWERS, GateAnswer, gravest, interval_said
from longlook.report import wording

SIDES = ("baseline", "contender")
ROUNDS = 20
FEWEST = Analysis().min_rounds
TRIES = 3
"""How often a command is run at most if the link was disturbed."""
MOST_TIMES = 2
"""A round in which the link stayed disturbed is made up for; this times the wanted rounds is the most that run."""
HOPELESS = 5
"""Rounds after which a network is left alone if no round of it could be compared."""

_TIMED_OUT = 124  # of timeout(1)
_SAID = 200  # characters of what a command said
_PIECE_BYTES = 1 << 16
TIME = Metric(
    name="elapsed_time",
    label="elapsed time",
    unit="s",
    better=Better.LOWER,
    needs=(),
    measure=lambda _timeline: None,
    summary="From the command's start to its end.",
    quantity=Quantity.RATIO,
    margin=OF_TIMES,
)


class RunEnd(StrEnum):
    """How a run of a command ended."""

    OK = "ok"
    FAILED = "failed"  # the command's exit code is not 0, or it was ended after the longest time
    INVALID = "invalid"  # the link was disturbed, each time


@dataclass(frozen=True)
class CommandSpec:
    """A comparison of two commands. `networks` are settings `network.KEY` by the text that the user gave."""

    baseline: str
    contender: str
    networks: Mapping[str, Mapping[str, Scalar]]
    gate_pct: float
    rounds: int = ROUNDS
    alpha: float = 0.05
    seed: int = 1
    server: str | None = None  # a command line at the far end of a link without a way out
    timeout_s: float = 120.0

    @property
    def confidence(self) -> float:
        """The confidence of each interval, such that the answers of all networks are right with 1 − alpha."""
        return 1 - self.alpha / len(self.networks)


@dataclass(frozen=True)
class CommandRun:
    """A run of one command. `elapsed_s` is from its start to its end; bytes are what the link delivered."""

    network: str
    round: int
    side: str
    end: RunEnd
    elapsed_s: float
    exit_code: int
    sent_bytes: int
    received_bytes: int
    reason: str = ""


@dataclass(frozen=True)
class CommandCase:
    """The answer on one network. `effect_pct` and its interval are + if the contender is faster."""

    network: str
    answer: GateAnswer
    rounds: int  # in which both commands ended well
    failed: Mapping[str, int]  # rounds by side
    invalid: int  # rounds in which the link was disturbed each time
    medians_s: Mapping[str, float | None]
    received_bytes: Mapping[str, float | None]  # medians
    effect_pct: float | None
    low_pct: float | None
    high_pct: float | None
    verdict: str
    reason: str


def run_commands(spec: CommandSpec, ran: Callable[[CommandRun], None]) -> list[CommandCase]:
    """Run every round of every network and return the answers; `ran` is called after each run.

    MachineError if this machine cannot open a link.
    """
    with tempfile.TemporaryDirectory(prefix="longlook-commands-") as folder:
        found: list[CommandRun] = []
        for number in range(1, MOST_TIMES * spec.rounds + 1):
            for network in spec.networks:
                if not _goes_on(found, network, spec.rounds):
                    continue
                draw = random.Random(f"{spec.seed} {number} {network}")  # noqa: S311 no secret
                order = draw.sample(SIDES, len(SIDES))
                link_seed = draw.getrandbits(32)
                for side in order:
                    run = _run(spec, network, number, side, link_seed, Path(folder) / "summary.json")
                    found.append(run)
                    ran(run)
    return [judged(spec, network, found) for network in spec.networks]


def _goes_on(runs: Sequence[CommandRun], network: str, rounds: int) -> bool:
    """Return whether a network needs another round: not if it has its rounds, and not if none could be compared."""
    ran = _by_round(runs, network)
    valid = [pair for pair in ran if all(run.end is not RunEnd.INVALID for run in pair.values())]
    return len(valid) < rounds and (len(ran) < HOPELESS or bool(_pairs(runs, network)))


def _run(spec: CommandSpec, network: str, number: int, side: str, link_seed: int, summary_file: Path) -> CommandRun:
    command = spec.baseline if side == "baseline" else spec.contender
    argv = link_command(spec, network, link_seed, summary_file, command)
    run = CommandRun(network, number, side, RunEnd.INVALID, 0.0, 0, 0, 0)
    for _ in range(TRIES):
        summary_file.unlink(missing_ok=True)
        code, said = _last_words(argv)
        if not summary_file.is_file():
            lines = said.decode(errors="replace").strip().splitlines() or ["it said nothing"]
            raise MachineError(f"longlook link ended with {code}: {lines[-1]}", "longlook doctor")
        run = as_run(network, number, side, json.loads(summary_file.read_text()), said, spec.timeout_s)
        if run.end is not RunEnd.INVALID:
            break
    return run


def _last_words(argv: Sequence[str]) -> tuple[int, bytes]:
    """Run a program and return its exit code and the end of its standard error: a command may print gigabytes."""
    said = b""
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0
    ) as process:
        if process.stderr is not None:
            while piece := process.stderr.read(_PIECE_BYTES):
                said = (said + piece)[-_PIECE_BYTES:]
    return process.returncode, said


def link_command(spec: CommandSpec, network: str, link_seed: int, summary_file: Path, command: str) -> list[str]:
    """Return the call of `longlook link` for one run."""
    changes = [
        word
        for key, value in spec.networks[network].items()
        for word in ("--set", f"{key.removeprefix('network.')}={str(value).lower() if value is True else value}")
    ]
    ended = ["timeout", "--kill-after=5", f"{spec.timeout_s:g}"]
    return [
        *(sys.executable, "-m", "longlook", "link", "--quiet", "--json", str(summary_file), "--seed", str(link_seed)),
        *changes,
        *(("--server", spec.server) if spec.server is not None else ()),
        *("--", *ended, "/bin/sh", "-c", command),
    ]


def as_run(
    network: str, number: int, side: str, summary: Mapping[str, Any], said: bytes, timeout_s: float
) -> CommandRun:
    """Return a run from the summary of `longlook link` and what the command wrote to standard error."""
    code, elapsed_s = int(summary["exit_code"]), float(summary["duration_s"])
    end, reason = RunEnd.OK, ""
    if summary["error"] or summary["disturbed"]:
        end, reason = RunEnd.INVALID, str(summary["error"] or summary["doubts"][-1])
    elif code == _TIMED_OUT:
        end, reason = RunEnd.FAILED, f"ended after {timeout_s:g} s"
    elif code != 0:
        lines = said.decode(errors="replace").strip().splitlines()
        end, reason = RunEnd.FAILED, f"exit code {code}" + (f": {lines[-1][:_SAID]}" if lines else "")
    sent, received = (int(summary[way].get("delivered_bytes", 0)) for way in ("up", "down"))
    return CommandRun(network, number, side, end, elapsed_s, code, sent, received, reason)


def judged(spec: CommandSpec, network: str, runs: Sequence[CommandRun]) -> CommandCase:
    """Return the answer on one network. A round counts if both commands ended well in it."""
    rounds = _by_round(runs, network)
    pairs = list(filter(_is_comparable, rounds))
    failed = {side: sum(pair[side].end is RunEnd.FAILED for pair in rounds) for side in SIDES}
    alone = {side: sum(_fails_alone(pair, side) for pair in rounds) for side in SIDES}
    invalid = sum(any(run.end is RunEnd.INVALID for run in pair.values()) for pair in rounds)
    times = {side: np.array([pair[side].elapsed_s for pair in pairs]) for side in SIDES}
    found = compare_arrays(
        times["baseline"], times["contender"], TIME, Analysis(confidence=spec.confidence), is_paired=True
    )
    effect = found.effect
    low, high = (None, None) if effect is None else (effect.low, effect.high)
    reasons = [_by_failures(spec, alone), _by_time(spec, rounds, effect)]
    answer = gravest(each for each, _ in reasons)
    reason = "; ".join(text for each, text in reasons if each is answer and text)
    return CommandCase(
        network,
        answer,
        len(pairs),
        failed,
        invalid,
        {side: _median(values) for side, values in times.items()},
        {side: _median(np.array([float(pair[side].received_bytes) for pair in pairs])) for side in SIDES},
        None if effect is None else effect.value,
        low,
        high,
        str(found.verdict),
        reason,
    )


def _by_round(runs: Sequence[CommandRun], network: str) -> list[dict[str, CommandRun]]:
    found: dict[int, dict[str, CommandRun]] = {}
    for run in runs:
        if run.network == network:
            found.setdefault(run.round, {})[run.side] = run
    return list(found.values())


def _pairs(runs: Sequence[CommandRun], network: str) -> list[dict[str, CommandRun]]:
    """Return the rounds that can be compared."""
    return list(filter(_is_comparable, _by_round(runs, network)))


def _is_comparable(pair: Mapping[str, CommandRun]) -> bool:
    return all(pair[side].end is RunEnd.OK for side in SIDES)


def _fails_alone(pair: Mapping[str, CommandRun], side: str) -> bool:
    (other,) = (each for each in SIDES if each != side)
    return pair[side].end is RunEnd.FAILED and pair[other].end is RunEnd.OK


def _by_failures(spec: CommandSpec, alone: Mapping[str, int]) -> tuple[GateAnswer, str]:
    """Return whether the contender fails more often, by the rounds in which one side alone failed, and why."""
    ours, theirs = alone["contender"], alone["baseline"]
    if ours <= theirs:
        return GateAnswer.PASSED, ""
    p = fails_more(ours, theirs)
    counts = f"the contender alone failed in {ours} rounds, the baseline alone in {theirs} (p {wording.p_value(p)})"
    counts = counts.replace(wording.NBSP, " ")
    if p < (1 - spec.confidence) / 2:
        return GateAnswer.WORSE, f"worse: {counts}"
    return GateAnswer.UNDECIDED, f"{counts}: more rounds would decide"


def _by_time(
    spec: CommandSpec, rounds: Sequence[Mapping[str, CommandRun]], effect: Effect | None
) -> tuple[GateAnswer, str]:
    """Return whether the contender's time passes the gate, and why; + % means that it is faster."""
    count = sum(map(_is_comparable, rounds))
    if count < FEWEST or effect is None:
        first = next((run for pair in rounds for run in pair.values() if run.end is not RunEnd.OK), None)
        why = f"; round {first.round}, {first.side}: {first.reason}" if first else ""
        return GateAnswer.UNMEASURED, f"{count} rounds with both commands, {FEWEST} needed{why}"
    answer = ANSWERS[interval_side(effect.low, effect.high, spec.gate_pct)]
    span = wording.interval_with(effect.low, effect.high, "%")
    size = f"{wording.signed(effect.value, '%')} ({wording.percent(spec.confidence)} interval {span}, {count} rounds)"
    gate = f"the gate of {spec.gate_pct:g} %"
    return answer, interval_said(answer, size.replace(wording.NBSP, " "), gate, "more rounds")


def _median(values: Floats) -> float | None:
    return float(np.median(values)) if len(values) else None
