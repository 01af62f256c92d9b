"""`longlook compare`, `gate` and `bisect`: is one version of a stack worse than another, and since which version?

`spec.ComparisonSpec` describes a comparison, and `spec.make_study` makes a study of it. `run.run_comparison` runs that
study, and `gate` decides whether the contender passed. `run_bisection` repeats both between versions or commits, and
`bisection` says in which order. `output` has the answer as data, as Markdown and as JUnit XML. `tree_gate` judges a
change of a repository by a suite of networks.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.instruments.compare import command as command
    from longlook.instruments.compare import exits as exits
    from longlook.instruments.compare import gate_command as gate_command
else:
    __all__, __getattr__ = lazy(
        __name__,
        {},
        "command exits gate_command",
    )
