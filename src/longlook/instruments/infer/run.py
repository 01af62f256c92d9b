"""`longlook infer`: traces → machines → files."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from longlook.core import InputError, MachineError
from longlook.explain import LEVEL, Difference, Machine, MachineInference, Relation, diff
from longlook.instruments.infer.dot import diff_to_dot, to_dot
from longlook.instruments.infer.sources import TraceSet, read_one, read_sets
from longlook.report import draw, draw_diff

FORMATS = ("svg", "dot", "json")


@dataclass(frozen=True)
class InferOptions:
    """The traces, how machines are inferred from them, and the folder for them."""

    names: tuple[str, ...]
    out: Path
    formats: tuple[str, ...] = FORMATS
    relations: tuple[str, ...] = tuple(Relation)
    vantage: str | None = None
    together: bool = False
    level: float = LEVEL


@dataclass(frozen=True)
class Inferred:
    """A machine with its title, and the files that it was written to."""

    title: str
    machine: Machine
    files: tuple[Path, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Compared:
    """Two machines and their difference, with the files that they were written to."""

    a: Inferred
    b: Inferred
    difference: Difference
    files: tuple[Path, ...]


def infer_machines(options: InferOptions) -> list[Inferred]:
    """Infer, prove and write one machine for each set of traces."""
    return [_inferred(one, options) for one in read_sets(options.names, options.vantage, together=options.together)]


def compare_machines(options: InferOptions) -> Compared:
    """Write two machines, of two names or of the two arms of one run folder, and their difference."""
    if len(options.names) == 1:
        sets = read_sets(options.names, options.vantage)
    else:
        sets = [read_one(name, options.vantage) for name in options.names]
    if len(sets) != 2:
        titles = ", ".join(one.title for one in sets)
        raise InputError(f"--diff compares two, not {len(sets)}: {titles}", "name two; an arm of a run is RUN:ARM")
    a, b = (_inferred(one, options) for one in sets)
    difference = diff(a.machine, b.machine, a.title, b.title, options.level)
    title = f"{a.title} and {b.title}"
    texts = {
        "svg": lambda: draw_diff(difference),
        "dot": lambda: diff_to_dot(difference),
        "json": difference.to_json,
    }
    return Compared(a, b, difference, _write(options, f"diff-{title}", texts))


def _inferred(traces: TraceSet, options: InferOptions) -> Inferred:
    if traces.machine is not None:
        machine = traces.machine
    else:
        machine = MachineInference(relations=options.relations).fit(traces.traces).machine_
    texts = {
        "svg": lambda: draw(machine, traces.title),
        "dot": lambda: to_dot(machine, traces.title),
        "json": machine.to_json,
    }
    return Inferred(traces.title, machine, _write(options, traces.title, texts), traces.warnings)


def _write(options: InferOptions, title: str, texts: dict[str, Callable[[], str]]) -> tuple[Path, ...]:
    name = re.sub(r"[^\w.@+-]+", "-", title).strip("-.")[:100] or "machine"
    files = []
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        for form in options.formats:
            file = options.out / f"{name}.{form}"
            file.write_text(texts[form](), encoding="utf-8")
            files.append(file)
    except OSError as error:
        raise MachineError(f"cannot write to {options.out}: {error.strerror}", "choose another --out") from error
    return tuple(files)
