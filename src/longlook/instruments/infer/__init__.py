"""`longlook infer`: traces that users name → state machines, as drawings and as data (docs/guide/infer.md).

`sources.read_sets` reads traces, `run.infer_machines` writes a machine for each set of them, and `run.compare_machines`
writes the differences between two. `dot` writes machines for Graphviz. Inference itself is `explain.infer`, which
pages of a run show too, and `report.machines` draws.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.instruments.infer import command as command
else:
    __all__, __getattr__ = lazy(
        __name__,
        {},
        "command",
    )
