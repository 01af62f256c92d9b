"""`longlook decide` and `longlook population`: what a change means for users, as a distribution over them.

`spec.DecideSpec` describes pages, server and users, and `spec.main_study`, `spec.settings_study` make studies of it.
`run.decide` runs them, `verdict` puts the answer into words, `page` writes the page, `show` has it for terminals.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.instruments.decide import command as command
else:
    __all__, __getattr__ = lazy(
        __name__,
        {},
        "command",
    )
