"""A machine in the language of Graphviz, for other programs to draw."""

from longlook.infer.machine import START, Machine
from longlook.infer.wording import percent, spoken


def to_dot(machine: Machine, title: str = "State machine") -> str:
    """The machine as a digraph; the same machine gives the same text."""
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
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
