"""State machines inferred from traces (docs/infer.md)::

    from longlook.infer import MachineInference, draw

    inference = MachineInference().fit([[("init", 0), ("slow_start", 1_000)], …])
    inference.machine_.states, inference.invariants_
    svg = draw(inference.machine_, "quic-go")

Everything here is pure but `program`, which runs longlook-trace.
"""

from longlook.infer.drawing import draw
from longlook.infer.inference import MachineInference
from longlook.infer.machine import Invariant, Machine, Relation, State, Transition

__all__ = ["Invariant", "Machine", "MachineInference", "Relation", "State", "Transition", "draw"]
