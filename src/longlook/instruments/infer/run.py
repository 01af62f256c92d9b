"""`longlook infer`: traces → machines → files."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from longlook.core import InputError, MachineError, visible
from longlook.explain import LEVEL, START, Difference, Machine, MachineInference, Relation, Standing, Test, diff
from longlook.instruments.infer.sources import TraceSet, read_one, read_sets
from longlook.report import BASELINE, CONTENDER, INK, INK_SOFT, RULE, draw, draw_diff, p_value, percent, spoken


def to_dot(machine: Machine, title: str = "State machine") -> str:
    """Return the machine as a digraph; the same machine gives the same text."""
    lines = [f"digraph {_quoted(title)} {{", '  node [shape=box, style=rounded, fontname="sans-serif"];']
    lines.append('  edge [fontname="sans-serif"];')
    for state in machine.states:
        if state.name is None:
            shape = "point" if state.id == START else "doublecircle"
            lines.append(f'  s{state.id} [shape={shape}, label="", width=0.15];')
        else:
            text = f"{spoken(state.name)}\n{percent(machine.share(state))} of time\n{state.visits} visits"
            lines.append(f"  s{state.id} [label={_quoted(text)}];")
    for t in machine.transitions:
        text = f"{percent(t.probability)}\n{t.count}×"
        width = f"{1 + 4 * t.probability:.2f}"
        lines.append(f"  s{t.source} -> s{t.target} [label={_quoted(text)}, penwidth={width}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    escaped = visible(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def diff_to_dot(difference: Difference) -> str:
    """Return two machines as one digraph: blue only in A, red only in B, bold black if they differ significantly."""
    lines = [f"digraph {_quoted(f'{difference.title_a} and {difference.title_b}')} {{"]
    lines.append('  node [shape=box, style=rounded, fontname="sans-serif"];\n  edge [fontname="sans-serif"];')
    for state in difference.states:
        if state.name is None:
            shape = "point" if state.id == START else "doublecircle"
            lines.append(f'  s{state.id} [shape={shape}, label="", width=0.15];')
        else:
            text = f"{spoken(state.name)}\nA {percent(state.share_a)}  B {percent(state.share_b)}{_p(state.test)}"
            lines.append(f"  s{state.id} [label={_quoted(text)}, {_LOOKS[state.standing]}];")
    for t in difference.transitions:
        text = f"A {percent(t.probability_a)} {t.count_a}×\nB {percent(t.probability_b)} {t.count_b}×{_p(t.test)}"
        lines.append(f"  s{t.source} -> s{t.target} [label={_quoted(text)}, {_LOOKS[t.standing]}];")
    return "\n".join([*lines, "}"]) + "\n"


_LOOKS = {
    Standing.ONLY_A: f'color="{BASELINE}", fontcolor="{BASELINE}"',
    Standing.ONLY_B: f'color="{CONTENDER}", fontcolor="{CONTENDER}"',
    Standing.DIFFERS: f'color="{INK}", penwidth=2.5',
    Standing.ALIKE: f'color="{RULE}", fontcolor="{INK_SOFT}"',
}


def _p(test: Test) -> str:
    return "" if test.p_adjusted is None else f"\n{p_value(test.p_adjusted)}"


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
