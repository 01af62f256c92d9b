"""`longlook link`: a command, or a shell, behind an emulated link.

`options.emulation(given)` turns options into a link, `run.run_link(request, opened, take_log)` runs a command behind it
and returns its exit code with the router's counters, and `summary.summarise` turns those into the summary. Everything
that it changes on the machine is undone when the command ends, by the reaper if the process is killed, or by the next
run. `importing` makes a trace of a table of measurements.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.instruments.link import command as command
else:
    __all__, __getattr__ = lazy(
        __name__,
        {},
        "command",
    )
