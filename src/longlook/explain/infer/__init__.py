"""State machines inferred from traces: sequences of states → a `Machine` with its invariants (docs/guide/infer.md)::

    from longlook.explain.infer import MachineInference

    inference = MachineInference().fit([[("init", 0), ("slow_start", 1_000)], …])
    inference.machine_.states, inference.invariants_

`diff.diff` compares two machines, `check.flaws` proves one, and `longlook.report.machines` draws them. Everything here
is pure but `program`, which runs longlook-trace.
"""

from longlook.explain.infer.inference import MachineInference
from longlook.explain.infer.machine import Invariant, Machine, MachineState, Relation, Transition

__all__ = ["Invariant", "Machine", "MachineInference", "MachineState", "Relation", "Transition"]
