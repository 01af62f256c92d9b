"""The expectations of a study, judged in each of its trials from the tables of the trial's folder.

A trial that does not say what is asked for does not fulfil an expectation: one that failed, a trace that is missing or
ended early, a load that was over by then.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from operator import itemgetter
from pathlib import Path

import numpy as np
import numpy.typing as npt

from longlook.core import (
    EVENTS,
    TIMELINE,
    Bounds,
    Expectation,
    JudgedExpectation,
    Outcome,
    Run,
    RunFolder,
    Trial,
    find_metric,
)
from longlook.study import find_observable, scale_of
from longlook.timeline import BEGUN_BY_LOSSES, Course, Events, Form, NotKnownError, Observable, State, Timeline, View

_NS_PER_S = 1e9
_WORTH_PROCESSES = 20
"""Trials: for fewer, starting processes would take longer than judging."""


@dataclass(frozen=True)
class Finding:
    """The value of a quantity that decides about an expectation: in `unit`, at `time_s` since the load began."""

    holds: bool
    seen: float | str
    unit: str
    time_s: float | None = None
    flow: str = ""


def judge_expectations(folder: RunFolder) -> list[JudgedExpectation]:
    """Return every expectation in every trial that it is about and that ran, by expectation and then as in the plan.

    Timelines and events of the trials are there already (`measure_all`).
    """
    expected = folder.study.expectations
    orders = []
    for trial in folder.plan.trials if expected else ():
        numbers = [number for number, each in enumerate(expected) if each.is_about(trial.arm, trial.cell)]
        run = folder.result(trial.id)
        if numbers and run is not None:
            about = tuple(expected[number] for number in numbers)
            orders.append((numbers, _Order(trial, folder.trials / trial.id, run, about)))
    judged = _all([order for _, order in orders])
    found = [
        pair for (numbers, _), each in zip(orders, judged, strict=True) for pair in zip(numbers, each, strict=True)
    ]
    return [each for _, each in sorted(found, key=itemgetter(0))]


@dataclass(frozen=True)
class _Order:
    """A trial with the expectations about it."""

    trial: Trial
    path: Path
    run: Run
    expected: tuple[Expectation, ...]

    def judge(self) -> list[JudgedExpectation]:
        """Return each expectation as it is judged in the trial."""
        if self.run.outcome is not Outcome.OK:
            reason = f"the trial is {str(self.run.outcome).replace('_', ' ')}: {self.run.reason}"
            return [self._judged(each, None, reason) for each in self.expected]
        timeline = Timeline.read(self.path / TIMELINE)
        if (events := self.path / EVENTS).exists():
            timeline = timeline.with_events(Events.read(events))
        return [self._of(each, timeline) for each in self.expected]

    def _of(self, expectation: Expectation, timeline: Timeline) -> JudgedExpectation:
        try:
            return self._judged(expectation, look(expectation, timeline), "")
        except NotKnownError as error:
            return self._judged(expectation, None, str(error))

    def _judged(self, expectation: Expectation, found: Finding | None, reason: str) -> JudgedExpectation:
        return JudgedExpectation(
            expectation=expectation,
            trial_id=self.trial.id,
            arm=self.trial.arm,
            cell=self.trial.cell,
            cell_id=self.trial.cell_id,
            round=self.trial.round,
            holds=found is not None and found.holds,
            seen=None if found is None else found.seen,
            unit="" if found is None else found.unit,
            time_s=None if found is None else found.time_s,
            flow="" if found is None else found.flow,
            reason=reason,
        )


def _all(orders: Sequence[_Order]) -> Iterator[list[JudgedExpectation]]:
    if len(orders) < _WORTH_PROCESSES:
        yield from map(_Order.judge, orders)
        return
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        yield from pool.map(_Order.judge, orders, chunksize=8)


def look(expectation: Expectation, timeline: Timeline) -> Finding:
    """Return the value that decides about an expectation in a trial; NotKnownError if the trial does not say it."""
    found = find_observable(expectation.quantity)
    if found is None:
        return _metric(expectation, timeline)
    observable, end = found
    view = View(timeline, end, expectation.group)
    begin_ns, end_ns = _span_ns(expectation, view)
    if observable.total is not None:
        value = observable.total(view, begin_ns, end_ns)
        return _single(value, _bounds(expectation))
    if observable.read is None:
        raise RuntimeError(f"observable {observable.name} can be read neither over time nor as a total")
    courses = observable.read(view)
    if not courses:
        raise NotKnownError(f"the trace of the {end} does not say it")
    findings = [
        replace(
            _of_course(expectation, observable, view, each, begin_ns, end_ns),
            flow=each.flow if len(courses) > 1 else "",
        )
        for each in courses
    ]
    return min(findings, key=lambda finding: finding.holds)


def _bounds(expectation: Expectation) -> Bounds:
    if expectation.bounds is None:
        raise RuntimeError(f"expectation {expectation.name} {expectation.text} has no bounds")
    return expectation.bounds


def _metric(expectation: Expectation, timeline: Timeline) -> Finding:
    metric = find_metric(expectation.quantity)
    value = metric.measure(timeline)
    if value is None:
        raise NotKnownError(f"{metric.name} could not be measured")
    _, scale = scale_of(metric)
    return _single(value * scale, _bounds(expectation))


def _single(value: float, bounds: Bounds) -> Finding:
    return Finding(bounds.hold(value), value, bounds.unit)


def _span_ns(expectation: Expectation, view: View) -> tuple[int, int]:
    """Return the span that is meant on the timeline's clock; NotKnownError if it reaches beyond the load."""
    first_ns, last_ns = view.load_ns
    begin_ns, end_ns = expectation.begin_ns or 0, expectation.end_ns
    of_ns = None if expectation.bounds is None else expectation.bounds.of_ns
    latest_ns = max(begin_ns, end_ns or 0, of_ns or 0)
    if latest_ns > last_ns - first_ns or (end_ns is None and begin_ns == last_ns - first_ns):
        ended_s = (last_ns - first_ns) / _NS_PER_S
        raise NotKnownError(f"the load ended after {ended_s:.4g} s, before {latest_ns / _NS_PER_S:g} s")
    return first_ns + begin_ns, last_ns if end_ns is None else first_ns + end_ns


def _of_course(
    expectation: Expectation, observable: Observable, view: View, course: Course, begin_ns: int, end_ns: int
) -> Finding:
    """Return the value of one sender that decides."""
    bounds = expectation.bounds
    if bounds is not None and bounds.unit == "packets":
        course = view.in_packets(course)
    holds = observable.form is Form.LEVEL
    times_ns, values = _within(course, view, begin_ns, end_ns, holds=holds, begins=expectation.begin_ns is not None)
    if bounds is not None and bounds.of_ns is not None:
        values = _of_itself(values, course, view, bounds.of_ns)
    if expectation.states:
        deciding, kept = _deciding_state(expectation, values, times_ns, view)
    else:
        deciding, kept = _deciding_value(_bounds(expectation), values.astype(np.float64), once=expectation.once)
    time_s = (max(int(times_ns[deciding]), begin_ns) - view.load_ns[0]) / _NS_PER_S
    seen = str(values[deciding]) if expectation.states else float(values[deciding])
    return Finding(kept, seen, "" if bounds is None else bounds.unit, time_s)


def _within(
    course: Course, view: View, begin_ns: int, end_ns: int, *, holds: bool, begins: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.generic]]:
    """Return the values of a span with their times; of values that hold, also the one with which it begins.

    A span that begins with the load counts from the sender's first value on.
    """
    times_ns, values = course.times_ns, course.values
    if holds:  # of several values at one time the last holds
        lasting = np.append(times_ns[1:] > times_ns[:-1], True)
        times_ns, values = times_ns[lasting], values[lasting]
    first = int(np.searchsorted(times_ns, begin_ns, side="right" if holds else "left"))
    last = int(np.searchsorted(times_ns, end_ns, side="right"))
    if holds and first > 0:
        first -= 1
    elif holds and ((begins and begin_ns > view.load_ns[0]) or last == 0):
        known_s = (int(times_ns[0]) - view.load_ns[0]) / _NS_PER_S
        raise NotKnownError(f"it is not known before {known_s:.4g} s")
    if end_ns > course.known_until_ns:
        ends_s = (course.known_until_ns - view.load_ns[0]) / _NS_PER_S
        raise NotKnownError(f"the trace of the {view.end} ends at {ends_s:.4g} s, and packets followed")
    if first >= last:
        raise NotKnownError("nothing of the kind happened then")
    return times_ns[first:last], values[first:last]


def _of_itself(values: npt.NDArray[np.generic], course: Course, view: View, of_ns: int) -> npt.NDArray[np.float64]:
    """Return values in % of the value that holds at a time."""
    at_ns = view.load_ns[0] + of_ns
    _, reference = _within(course, view, at_ns, at_ns, holds=True, begins=True)
    if not (whole := float(reference[-1])):
        raise NotKnownError(f"it is 0 at {of_ns / _NS_PER_S:g} s")
    return 100 * values.astype(np.float64) / whole


def _deciding_value(bounds: Bounds, values: npt.NDArray[np.float64], *, once: bool) -> tuple[int, bool]:
    """Return which value decides, and whether the expectation holds.

    If all values must be inside, the first that is not decides, else the value nearest to a bound. If one is enough,
    the first that is inside decides, else the value nearest to being so.
    """
    inside = np.array([bounds.hold(value) for value in values.tolist()], np.bool_)
    holds = bool(inside.any() if once else inside.all())
    if holds is once:
        return int((inside if once else ~inside).argmax()), holds
    rooms = np.array([bounds.room(value) for value in values.tolist()])
    return int(rooms.argmax() if once else rooms.argmin()), holds


def _deciding_state(
    expectation: Expectation, names: npt.NDArray[np.generic], times_ns: npt.NDArray[np.int64], view: View
) -> tuple[int, bool]:
    """Return which state decides, and whether the expectation holds; NotKnownError if an unknown state might decide.

    An unknown state may be any but the states that losses begin, which every log shows.
    """
    inside = np.array([(name in expectation.states) is not expectation.never for name in names], np.bool_)
    unknown = np.asarray(names == str(State.UNKNOWN), np.bool_)
    if {*expectation.states} <= BEGUN_BY_LOSSES:
        unknown[:] = False
    deciding = (inside if expectation.once else ~inside) & ~unknown
    if deciding.any():
        return int(deciding.argmax()), expectation.once
    if unknown.any():
        at_s = (int(times_ns[int(unknown.argmax())]) - view.load_ns[0]) / _NS_PER_S
        raise NotKnownError(f"the state of the {view.end} is unknown from {at_s:.4g} s on")
    return len(names) - 1, not expectation.once
