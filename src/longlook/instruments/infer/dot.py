"""A machine in Graphviz's language, for other programs to draw."""

from longlook.core import visible
from longlook.explain import START, Difference, Machine, Standing, Test
from longlook.report import BASELINE, CONTENDER, INK, INK_SOFT, RULE, p_value, percent, spoken


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
