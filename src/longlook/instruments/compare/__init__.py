"""`longlook compare` and `longlook bisect`: is one version of a stack worse than another, and since which version?

`spec.ComparisonSpec` describes a comparison, and `spec.make_study` makes a study of it. `run.run_comparison` runs that
study, and `gate` decides whether the contender passed. `run.run_bisection` repeats both between versions. `output` has
the answer as data, as Markdown and as JUnit XML.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.instruments.compare import command as command
else:
    __all__, __getattr__ = lazy(
        __name__,
        {},
        "command",
    )
