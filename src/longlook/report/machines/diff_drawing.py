"""The picture of two machines as one."""

from longlook.explain import START, Difference, Standing, StatePair, Test, TransitionPair
from longlook.report.charts.colours import BASELINE, CONTENDER, INK, INK_SOFT, NO_DATA, PAPER
from longlook.report.machines.drawing import THICKEST_PX, THINNEST_PX, titled
from longlook.report.machines.picture import Arrow, Line, Picture, StateBox, Words
from longlook.report.machines.svg import svg
from longlook.report.machines.wording import counted, p_value, percent, spoken

_FAINT = "#b5b0a8"
_ONLY = {Standing.ONLY_A: BASELINE, Standing.ONLY_B: CONTENDER}
_PALE = {Standing.ONLY_A: "#eef4fa", Standing.ONLY_B: "#fbeef0"}


def draw_diff(difference: Difference, title: str | None = None) -> str:
    """Return the difference as SVG; the same difference gives the same bytes."""
    return svg(picture(difference, title or f"{difference.title_a} and {difference.title_b}"))


def picture(difference: Difference, title: str) -> Picture:
    """Return the picture of a difference."""
    return Picture(
        title,
        (
            (
                Words("A", BASELINE, bold=True),
                Words(f"{difference.title_a}, {counted(difference.traces_a, 'trace')}", INK_SOFT),
            ),
            (
                Words("B", CONTENDER, bold=True),
                Words(f"{difference.title_b}, {counted(difference.traces_b, 'trace')}", INK_SOFT),
            ),
        ),
        tuple(_box(state, difference) for state in difference.states),
        tuple(_arrow(transition, difference) for transition in difference.transitions),
        _key(difference),
    )


def _key(difference: Difference) -> tuple[Line, ...]:
    tests = [*(one.test for one in difference.states), *(one.test for one in difference.transitions)]
    methods = sorted({test.method for test in tests if test.method})
    tested = f"tested by {' and '.join(methods)}, Holm-corrected" if methods else "nothing could be tested"
    return (
        (
            Words("Blue, dashed:", BASELINE), Words("only in A.", INK_SOFT),
            Words("Red, dashed:", CONTENDER), Words("only in B.", INK_SOFT),
            Words("Black, with p:", INK), Words(f"differs significantly (level {difference.level:g}).", INK_SOFT),
            Words("Grey: no significant difference.", INK_SOFT),
        ),
        (Words(f"Boxes: mean share of a trace's time. Arrows: share of steps out of a state; {tested}.", INK_SOFT),),
    )  # fmt: skip


def _box(state: StatePair, difference: Difference) -> StateBox:
    if state.name is None:
        return StateBox(state.id, state.role, tip="traces begin here" if state.id == START else "traces end here")
    differs = state.standing is Standing.DIFFERS
    lines: list[Line] = []
    if state.standing is not Standing.ONLY_B:
        lines.append(_numbers("A", BASELINE, f"{percent(state.share_a)} of time", f"{state.visits_a:,}×"))
    if state.standing is not Standing.ONLY_A:
        lines.append(_numbers("B", CONTENDER, f"{percent(state.share_b)} of time", f"{state.visits_b:,}×"))
    if differs:
        lines.append(_p(state.test))
    bars = {Standing.ONLY_A: [(state.share_a, BASELINE)], Standing.ONLY_B: [(state.share_b, CONTENDER)]}
    return StateBox(
        state.id,
        state.role,
        titled(state.name),
        tuple(lines),
        tuple(bars.get(state.standing, [(state.share_a, BASELINE), (state.share_b, CONTENDER)])),
        fill=_PALE.get(state.standing, PAPER if differs else NO_DATA),
        border=_ONLY.get(state.standing, INK if differs else _FAINT),
        border_px=2.4 if differs else 1.4,
        dashed=state.standing in _ONLY,
        tip=f"{spoken(state.name)}: {_standing(state.standing, state.test, difference)}",
    )


def _arrow(transition: TransitionPair, difference: Difference) -> Arrow:
    differs = transition.standing is Standing.DIFFERS
    lines: list[Line] = []
    if transition.standing is not Standing.ONLY_B:
        lines.append(_numbers("A", BASELINE, percent(transition.probability_a), f"{transition.count_a:,}×"))
    if transition.standing is not Standing.ONLY_A:
        lines.append(_numbers("B", CONTENDER, percent(transition.probability_b), f"{transition.count_b:,}×"))
    if differs or (transition.standing in _ONLY and _significant(transition.test, difference)):
        lines.append(_p(transition.test))
    most = max(max(one.count_a, one.count_b) for one in difference.transitions)
    ends = [
        difference.states[end].name or difference.states[end].role for end in (transition.source, transition.target)
    ]
    return Arrow(
        transition.source,
        transition.target,
        tuple(lines),
        _ONLY.get(transition.standing, INK if differs else _FAINT),
        THINNEST_PX + (THICKEST_PX - THINNEST_PX) * max(transition.probability_a, transition.probability_b),
        max(transition.count_a, transition.count_b) / most,
        dashed=transition.standing in _ONLY,
        tip=f"{spoken(ends[0])} → {spoken(ends[1])}: {_standing(transition.standing, transition.test, difference)}",
    )


def _numbers(side: str, colour: str, share: str, count: str) -> Line:
    return Words(side, colour, bold=True), Words(share, INK), Words(count, INK_SOFT)


def _p(test: Test) -> Line:
    return (Words(p_value(test.p_adjusted if test.p_adjusted is not None else 1.0), INK, bold=True),)


def _significant(test: Test, difference: Difference) -> bool:
    return test.p_adjusted is not None and test.p_adjusted < difference.level


def _standing(standing: Standing, test: Test, difference: Difference) -> str:
    tested = {
        Standing.ONLY_A: f"only in {difference.title_a}",
        Standing.ONLY_B: f"only in {difference.title_b}",
        Standing.DIFFERS: "differs",
        Standing.ALIKE: "no significant difference",
    }[standing]
    return tested if test.p_adjusted is None else f"{tested}; {p_value(test.p_adjusted)} after correction"
