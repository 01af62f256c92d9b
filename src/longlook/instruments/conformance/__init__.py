"""The conformance suite: it checks over real trials that a stack does what it declares (adapters/CONTRACT.md).

A version of a stack goes in, a `checks.Report` comes out, for `longlook stacks check`. A `checks.Check` is data: the
trials that it needs (`checks.Want`), and a pure function from their results (`evidence.Seen`) to a
`checks.CheckFinding`. `suite` lists the checks of a version, `proofs` has one for each knob, `runner` runs them, and
`matrix` tries all pairs. `run.check_all` and `run.matrices` do this for many versions; `documents.update` writes the
tables of docs/reference/stack-tables.md.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.instruments.conformance import command as command
else:
    __all__, __getattr__ = lazy(
        __name__,
        {},
        "command",
    )
