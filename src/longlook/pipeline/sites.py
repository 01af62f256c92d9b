"""A run whose arms ask sites, servers of the world outside: its way there, and one look at each before its trials."""

from collections.abc import Iterator
from contextlib import contextmanager

from longlook.core import SITE, InputError, Plan
from longlook.outside import Gateway, SiteAccess, Sites, ignored_proxies, site_url_of
from longlook.pipeline.options import Observer, RunOptions
from longlook.run import Provisions


def site_access(plan: Plan, options: RunOptions) -> SiteAccess | None:
    """Return how the sites of a plan are asked, None if it has none; InputError if nobody says who asks."""
    asking = [trial for trial in plan.trials if site_url_of(trial)]
    if not asking:
        return None
    if any(trial.ip == 6 for trial in asking):
        raise InputError(
            "sites are asked over IPv4 alone: the way out has no IPv6 yet", "leave --ip and network.ip out"
        )
    return options.access or SiteAccess.from_environment()


@contextmanager
def opened_sites(plan: Plan, provisions: Provisions, options: RunOptions, observer: Observer) -> Iterator[Sites | None]:
    """Open the way to the sites of a plan for a block, and look at each once; yield None if it has none.

    Raise InputError if a site cannot be measured, MachineError if there is no way.
    """
    access = site_access(plan, options)
    if access is None:
        yield None
        return
    for variable in ignored_proxies():
        observer.say(f"{variable} is ignored: a proxy would be measured in place of the site")
    program = next(program for (stack, _), program in provisions.programs.items() if stack == SITE)
    with Gateway() as gateway:
        for note in gateway.notes:
            observer.say(note)
        sites = Sites(access, program, observer.say, gateway.home)
        sites.open(plan.trials)
        yield sites
