"""`longlook runs`, `watch` and `stop`: runs to find, to follow and to leave (docs/guide/runs.md).

`listing` reads run folders and changes nothing in them, `notes` keeps what people say about a run, and `holder` finds
the process that writes to a run. `detached` leaves a run to itself, `progress` and `watch` follow it, `live_page` and
`server` show it in a browser, `stop` ends it, and `notice` says that it
has ended.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.instruments.runs import command as command
    from longlook.instruments.runs.detached import Detached as Detached
    from longlook.instruments.runs.detached import detach as detach
    from longlook.instruments.runs.notice import check_target as check_target
    from longlook.instruments.runs.notice import noticed as noticed
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "detached": "Detached detach",
            "notice": "check_target noticed",
        },
        "command",
    )
