"""Two machines compared, and both drawn."""

import random
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from longlook.explain.infer import Machine, MachineInference
from longlook.explain.infer.diff import Deals, Difference, Standing, diff, fisher_p, matched
from longlook.report.machines.diff_drawing import draw_diff
from longlook.report.machines.drawing import draw


def machine_of(seed: int, timeout_share: float, recovery_ns: int, traces: int = 12) -> Machine:
    """Traces of a sender that now and then loses packets, and then times out with some probability."""
    draw_from = random.Random(seed)
    found = []
    for _ in range(traces):
        at, trace = 0, [("init", 0), ("slow_start", 100)]
        for _ in range(30):
            at = trace[-1][1] + draw_from.randint(900, 1100)
            trace.append(("recovery", at))
            if draw_from.random() < timeout_share:
                trace.append(("timeout", at + recovery_ns))
                at += 500
            trace.append(("avoidance", at + recovery_ns))
        found.append([*trace, (None, at + 3000)])
    return MachineInference(relations=()).fit(found).machine_


@pytest.fixture(scope="module")
def different() -> Difference:
    return diff(machine_of(1, 0.1, 100), machine_of(2, 0.5, 700), "calm", "rough")


def named(difference: Difference, source: str, target: str) -> list[str]:
    names = {state.id: state.name for state in difference.states}
    return [t.standing for t in difference.transitions if (names[t.source], names[t.target]) == (source, target)]


def test_differences_that_are_there_are_found(different: Difference) -> None:
    assert named(different, "recovery", "timeout") == [Standing.DIFFERS]
    assert named(different, "recovery", "avoidance") == [Standing.DIFFERS]
    assert named(different, "init", "slow_start") == [Standing.ALIKE]
    (recovery,) = [state for state in different.states if state.name == "recovery"]
    assert recovery.standing is Standing.DIFFERS
    assert recovery.share_a < recovery.share_b
    assert recovery.test.p_adjusted is not None
    assert recovery.test.p is not None
    assert recovery.test.p <= recovery.test.p_adjusted < 0.01


def test_no_difference_is_found_where_there_is_none() -> None:
    false = 0
    for seed in range(8):
        same = diff(machine_of(2 * seed + 10, 0.3, 200), machine_of(2 * seed + 11, 0.3, 200))
        false += sum(one.standing is not Standing.ALIKE for parts in (same.states, same.transitions) for one in parts)
    assert false <= 1  # each comparison finds one at a level of 1 % by chance


def test_what_only_one_has_is_reported() -> None:
    a = MachineInference().fit([[("a", 0), ("b", 1), ("c", 2), (None, 3)]]).machine_
    b = MachineInference().fit([[("a", 0), ("c", 1), ("d", 2), (None, 3)]]).machine_
    found = diff(a, b)
    standings = {state.name: state.standing for state in found.states if state.name}
    assert standings == {
        "a": Standing.ALIKE, "b": Standing.ONLY_A, "c": Standing.ALIKE, "d": Standing.ONLY_B,
    }  # fmt: skip
    assert named(found, "a", "b") == [Standing.ONLY_A]
    assert named(found, "a", "c") == [Standing.ONLY_B]


def test_states_of_one_name_are_matched_by_context() -> None:
    """Two m in each machine, numbered the other way round: one behind x and before p, one behind y and before s."""
    words = ["xmp", "yms", "xmmp", "ymms"]
    one, other = (
        MachineInference().fit([[(letter, at) for at, letter in enumerate(word)] for word in order]).machine_
        for order in (words, words[1::2] + words[::2])
    )
    before = [
        {state.id: {machine.states[t.source].name for t in machine.transitions if t.target == state.id} - {"m"}
         for state in machine.states}
        for machine in (one, other)
    ]  # fmt: skip
    pairs = [(a, b) for a, b in matched(one, other) if a and b and a.name == "m"]
    assert len(pairs) == 2
    for a, b in pairs:
        assert before[0][a.id] == before[1][b.id]


def test_permutations_are_exact_where_they_can_be() -> None:
    parts = np.array([[1.0], [2.0], [3.0], [10.0], [11.0], [12.0]])
    assert Deals(3, 3).exact
    assert Deals(3, 3).p_values(parts, np.ones_like(parts)) == pytest.approx([2 / 20])  # the deal and its mirror
    assert not Deals(30, 30).exact
    same = np.ones((60, 1))
    assert Deals(30, 30).p_values(same, same) == pytest.approx([1.0])


def test_fisher_is_fishers() -> None:
    assert fisher_p(3, 4, 1, 4) == pytest.approx(0.485714, abs=1e-6)  # the lady tasting tea, two-sided


@pytest.mark.parametrize("kind", ["machine", "difference"])
def test_nothing_is_drawn_outside_and_every_time_the_same(different: Difference, kind: str) -> None:
    machine = machine_of(3, 0.2, 100)
    texts = {
        draw(machine, "A <title> & more") if kind == "machine" else draw_diff(different) for _ in range(2)
    }  # fmt: skip
    assert len(texts) == 1
    root = ET.fromstring(texts.pop())
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    space = "{http://www.w3.org/2000/svg}"
    group = root.find(f"{space}g")
    assert group is not None
    left, top = (float(part) for part in re.findall(r"[\d.]+", group.get("transform", "")))
    boxes = [
        (float(rect.get("x", 0)), float(rect.get("y", 0)), float(rect.get("width", 0)), float(rect.get("height", 0)))
        for rect in group.iter(f"{space}rect")
    ]
    points = [
        (float(x), float(y), 0.0, 0.0)
        for path in group.iter(f"{space}path")
        for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", path.get("d", ""))
    ]
    assert len(boxes) > 10
    assert len(points) > 20
    for x, y, wide, high in boxes + points:
        assert x + left >= 0
        assert y + top >= 0
        assert x + wide + left <= width
        assert y + high + top <= height


def test_names_of_events_are_shown_whatever_they_hold() -> None:
    hostile = '</title><script>x"];\x1b[31m\u202e'
    machine = MachineInference(relations=()).fit([[(hostile, 0), (None, 5)]]).machine_
    shown = '</title><script>x"];\\x1b[31m\\u202e'
    root = ET.fromstring(draw(machine, hostile))
    assert next(root.iter("{http://www.w3.org/2000/svg}title")).text == shown
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
