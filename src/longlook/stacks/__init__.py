"""Stacks: one file for each program under test, each defining STACK (a `core.stack.Stack`).

A file declares versions, roles, protocols and knobs, installs the program (by `provision`) and makes its command lines.
The registry finds the files of this folder and of LONGLOOK_PLUGINS. Guests import them too, so they import nothing
heavy at the top; adapters/example shows how one is written.

Entry points: none to import but `chromium_remote` (what a browser elsewhere needs); use `core.registry.stack(name)`.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.stacks import chromium_remote as chromium_remote
else:
    __all__, __getattr__ = lazy(
        __name__,
        {},
        "chromium_remote",
    )
