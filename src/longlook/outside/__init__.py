"""The world outside this machine: ways to it, and its servers as rounds of trials find them.

`Outside` is the way of a link (`longlook link`), `Gateway` a namespace with a way for trials whose server is a site.
`record` and `reaper` undo what a way changes on this machine, also if it is killed. `Sites` has what the rounds of a
run know of each site: the address that is pinned, what it answered, and how much more may be asked of it.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.outside import rootless as rootless
    from longlook.outside.access import SiteAccess as SiteAccess
    from longlook.outside.access import ignored_proxies as ignored_proxies
    from longlook.outside.addresses import TAKEN_BY_OUTER_LINKS as TAKEN_BY_OUTER_LINKS
    from longlook.outside.addresses import ends_of as ends_of
    from longlook.outside.addresses import free_subnet as free_subnet
    from longlook.outside.addresses import outer_subnets as outer_subnets
    from longlook.outside.budget import Budget as Budget
    from longlook.outside.gateway import Gateway as Gateway
    from longlook.outside.look import LOOK_REQUESTS as LOOK_REQUESTS
    from longlook.outside.look import LeadsElsewhereError as LeadsElsewhereError
    from longlook.outside.processes import end_all as end_all
    from longlook.outside.processes import inhabitants as inhabitants
    from longlook.outside.reaper import Reaper as Reaper
    from longlook.outside.record import MARKER as MARKER
    from longlook.outside.record import LinkRecord as LinkRecord
    from longlook.outside.record import open_record as open_record
    from longlook.outside.sites import Sites as Sites
    from longlook.outside.sites import site_url_of as site_url_of
    from longlook.outside.ways import Outside as Outside
    from longlook.outside.ways import client_end as client_end
    from longlook.outside.ways import lead_out as lead_out
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "access": "SiteAccess ignored_proxies",
            "addresses": "TAKEN_BY_OUTER_LINKS ends_of free_subnet outer_subnets",
            "budget": "Budget",
            "gateway": "Gateway",
            "look": "LOOK_REQUESTS LeadsElsewhereError",
            "processes": "end_all inhabitants",
            "reaper": "Reaper",
            "record": "LinkRecord MARKER open_record",
            "sites": "Sites site_url_of",
            "ways": "Outside client_end lead_out",
        },
        "rootless",
    )
