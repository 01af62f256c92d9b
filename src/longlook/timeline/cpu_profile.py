"""Where the programs of a trial spent CPU time, from the samples that its profiler kept. Pure."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from longlook.core import files
from longlook.core.stack_files import FACTS, FOLDER
from longlook.timeline.cpu_work import Work, work_of

ROLES = ("client", "server")
COLUMNS = ("role", "work", "cpu_s", "counted_s")


def work_columns(trial: Path, counted_s: Mapping[str, float]) -> Mapping[str, list[Any]] | None:
    """Return columns `role`, `work`, `cpu_s`, `counted_s`: the sampled CPU seconds of each end by what it was doing.

    `trial` is a trial's folder, `counted_s` has the CPU seconds of each end as the kernel counted them. A kind of work
    that was not seen has 0. None where nothing was sampled.
    """
    if (facts := _facts(trial)) is None:
        return None
    rows = []
    for role in ROLES:
        counts = Counter[Work]()
        for stack, count in read_folded(trial / FOLDER / f"{role}.folded").items():
            counts[work_of(stack.split(";")[1:])] += count
        hertz, counted = facts["frequency_hz"], counted_s.get(role, math.nan)
        rows += [(role, work.value, counts[work] / hertz, counted) for work in Work]
    return {name: list(column) for name, column in zip(COLUMNS, zip(*rows, strict=True), strict=True)}


def pooled_stacks(trials: Iterable[Path], role: str) -> tuple[Counter[str], float]:
    """Return the folded stacks of one end over several trials, and the CPU seconds that a sample stands for.

    The seconds are those of all trials, so that stacks times seconds are the sum of the trials; 0 without samples.
    """
    stacks: Counter[str] = Counter()
    seconds = 0.0
    for trial in trials:
        if (facts := _facts(trial)) is not None:
            stacks += read_folded(trial / FOLDER / f"{role}.folded")
            seconds = 1 / facts["frequency_hz"]
    return stacks, seconds


def read_folded(path: Path) -> Counter[str]:
    """Return the lines `thread;outermost;…;innermost COUNT` of a file of folded stacks; lines without a count are left
    out.
    """
    found: Counter[str] = Counter()
    for line in files.read_text(path).splitlines():
        stack, _, count = line.rpartition(" ")
        if stack and count.isdecimal():
            found[stack] += int(count)
    return found


def _facts(trial: Path) -> Mapping[str, Any] | None:
    path = trial / FOLDER / FACTS
    return files.read_json(path) if path.is_file() else None
