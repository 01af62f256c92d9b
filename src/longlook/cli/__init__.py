"""The command line: arguments to calls (`cli.COMMAND`), and results to a terminal, a pipe or a machine (`cli.show`).

Nothing is computed here. The entry points are `app`, the Typer application, and `main`, the program `longlook`. A
command imports what it needs when it is called, so that `longlook --help` loads none of it.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.cli.commands import app as app
    from longlook.cli.commands import main as main
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "commands": "app main",
        },
    )
