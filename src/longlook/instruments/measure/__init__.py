"""`longlook measure`: HTTP/3 against HTTP/2 of a host of the world outside, over emulated networks.

`spec.MeasureSpec` describes a measurement, and `spec.make_study` makes a study of it. `run.measure` runs that study,
`plan` says what it would send where, and `show` has both for terminals.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.instruments.measure import command as command
else:
    __all__, __getattr__ = lazy(
        __name__,
        {},
        "command",
    )
