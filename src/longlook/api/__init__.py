"""Longlook for notebooks and scripts: `import longlook.api as ll` (docs/guide/python.md).

`study` and `Study` are what can be run, `open` reads a finished run, and `compare` has the same statistics for arrays
of your own. Names shown here are public: they change by the rules of docs/reference/compatibility.md alone.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.api.built_study import Study as Study
    from longlook.api.built_study import studies as studies
    from longlook.api.built_study import study as study
    from longlook.api.cells import Cell as Cell
    from longlook.api.cells import Trial as Trial
    from longlook.api.comparison import Comparison as Comparison
    from longlook.api.comparison import compare as compare
    from longlook.api.errors import InputError as InputError
    from longlook.api.errors import InterruptedByUserError as InterruptedByUserError
    from longlook.api.errors import LonglookError as LonglookError
    from longlook.api.errors import MachineError as MachineError
    from longlook.api.explanations import Explanation as Explanation
    from longlook.api.explanations import Explanations as Explanations
    from longlook.api.figure import Figure as Figure
    from longlook.api.files import to_csv as to_csv
    from longlook.api.runs import Run as Run
    from longlook.api.runs import open as open
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "built_study": "Study studies study",
            "cells": "Cell Trial",
            "comparison": "Comparison compare",
            "errors": "InputError InterruptedByUserError LonglookError MachineError",
            "explanations": "Explanation Explanations",
            "figure": "Figure",
            "files": "to_csv",
            "runs": "Run open",
        },
    )
