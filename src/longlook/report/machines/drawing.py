"""The picture of one machine."""

from longlook.explain import END, START, Machine, MachineState, Transition
from longlook.report.charts.colours import INK, INK_SOFT
from longlook.report.machines.lettering import wrapped
from longlook.report.machines.picture import TITLE_PX, Arrow, Line, Picture, StateBox, Words
from longlook.report.machines.svg import svg
from longlook.report.machines.wording import counted, duration, percent, spoken

TIME = "#c8912c"
"""The colour of bars of shares of time; its paler forms fill the boxes."""
_FILLS = ("#ffffff", "#fdf8ee", "#faf0dc", "#f6e5c3", "#f1d9a8")
_TITLE_WIDTH_PX = 150.0
THINNEST_PX, THICKEST_PX = 1.0, 5.0


def draw(machine: Machine, title: str = "State machine") -> str:
    """Return the machine as SVG; the same machine and title give the same bytes."""
    return svg(picture(machine, title))


def picture(machine: Machine, title: str) -> Picture:
    """Return the picture of a machine."""
    return Picture(
        title,
        (_summary(machine),),
        tuple(_box(machine, state) for state in machine.states),
        tuple(_arrow(machine, transition) for transition in machine.transitions),
        (
            (
                Words("Box:", INK),
                Words(
                    "a state, its share of all time (also as bar and shade), how often it was entered, for how long.",
                    INK_SOFT,
                ),
            ),
            (
                Words("Arrow:", INK),
                Words("share of the steps out of its state (also as thickness), and how often it was taken.", INK_SOFT),
            ),
        ),
    )


def summary(machine: Machine) -> str:
    """Return the number of traces and events behind the machine, and the invariants that it keeps."""
    states = counted(len(machine.states) - END - 1, "state")
    parts = [
        states,
        f"{counted(len(machine.traces), 'trace')}, {counted(machine.events, 'event')}, {duration(machine.time_ns)}",
    ]
    parts.append(f"keeps {counted(len(machine.invariants), 'temporal invariant')}")
    return " · ".join(parts)


def _summary(machine: Machine) -> Line:
    return (Words(summary(machine), INK_SOFT),)


def titled(name: str) -> tuple[str, ...]:
    """Return a state's name in lines that fit a box."""
    return tuple(wrapped(spoken(name), TITLE_PX, _TITLE_WIDTH_PX, bold=True))


def _box(machine: Machine, state: MachineState) -> StateBox:
    if state.name is None:
        what = "begins" if state.id == START else "ends"
        return StateBox(state.id, state.role, tip=f"{counted(len(machine.traces), 'trace')} {what} here")
    share = machine.share(state)
    visits = f"{counted(state.visits, 'visit')} · {duration(state.time_ns)}"
    return StateBox(
        state.id,
        state.role,
        titled(state.name),
        ((Words(f"{percent(share)} of time", INK),), (Words(visits, INK_SOFT),)),
        ((share, TIME),),
        fill=_FILLS[min(int(share * 2 * len(_FILLS)), len(_FILLS) - 1)],
        border="#8d8881",
        tip=f"{spoken(state.name)}: {percent(share)} of time, {visits}",
    )


def _arrow(machine: Machine, transition: Transition) -> Arrow:
    ends = [
        machine.states[state].name or machine.states[state].role for state in (transition.source, transition.target)
    ]
    most = max(t.count for t in machine.transitions)
    return Arrow(
        transition.source,
        transition.target,
        ((Words(percent(transition.probability), INK),), (Words(f"{transition.count:,}×", INK_SOFT),)),
        INK_SOFT,
        THINNEST_PX + (THICKEST_PX - THINNEST_PX) * transition.probability,
        transition.count / most,
        tip=f"{spoken(ends[0])} → {spoken(ends[1])}: {percent(transition.probability)}, {transition.count:,} times",
    )
