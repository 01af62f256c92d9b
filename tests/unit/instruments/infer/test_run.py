"""Machines and their differences as Graphviz gets them."""

from longlook.explain.infer import MachineInference
from longlook.explain.infer.diff import diff
from longlook.instruments.infer.run import diff_to_dot, to_dot

CALM = [[("init", 0), ("slow_start", 100), ("recovery", 1000), ("avoidance", 1100), (None, 4000)]] * 3
ROUGH = [[("init", 0), ("slow_start", 100), ("recovery", 1000), ("timeout", 1700), (None, 4000)]] * 3


def test_graphviz_is_given_every_state_and_step() -> None:
    calm, rough = (MachineInference(relations=()).fit(traces).machine_ for traces in (CALM, ROUGH))
    text = to_dot(calm, 'a "title"')
    assert text.count(" -> ") == len(calm.transitions)
    assert text.startswith('digraph "a \\"title\\"" {')
    different = diff(calm, rough, "calm", "rough")
    assert diff_to_dot(different).count(" -> ") == len(different.transitions)


def test_names_of_events_are_shown_whatever_they_hold() -> None:
    hostile = '</title><script>x"];\x1b[31m\u202e'
    machine = MachineInference(relations=()).fit([[(hostile, 0), (None, 5)]]).machine_
    assert '</title><script>x\\"];\\\\x1b[31m\\\\u202e' in to_dot(machine)
