"""Refuse what cannot be asked of a site, a server of the world outside (docs/guide/endpoints.md). Pure."""

from collections.abc import Mapping

from longlook.core import (
    SITE,
    URL,
    Endpoint,
    InputError,
    Plan,
    SettingError,
    SiteUrlError,
    Study,
    parse_site_url,
    registry,
)
from longlook.study import tcp
from longlook.study.arm_settings import ArmSettings
from longlook.study.catalogue import Catalogue
from longlook.study.settings import PROXY, WORKLOAD_PREFIX

_LIVE = "live"


def check_site_load(arm: ArmSettings, *, outside: bool) -> None:
    """Raise SettingError if a site is asked for files of ours, or one of our servers for files of a site."""
    kind = arm.workload.kind.name
    if outside and kind != SITE:
        raise SettingError("server", f'a site serves what it has: write kind = "{SITE}" under [workload], not "{kind}"')
    if not outside and kind == SITE:
        raise SettingError(
            f"{WORKLOAD_PREFIX}kind", f'workload {SITE} is for servers of the world: server = "https://HOST/PATH"'
        )


def check_site(arm: ArmSettings, endpoints: Mapping[str, Endpoint], catalogue: Catalogue) -> None:
    """Raise SettingError if an arm asks a site for what only a server of ours can be asked for."""
    try:
        parse_site_url(str(endpoints["server"].knobs.get(URL, "")))
    except SiteUrlError as error:
        raise SettingError("server", f'{error}; write server = "https://HOST/PATH"') from error
    client = catalogue.stacks[endpoints["client"].stack]
    if not client.visits:
        able = [name for name, stack in catalogue.stacks.items() if stack.visits]
        raise SettingError(
            "client", f"client {client.name} does not say whom a site may ask; clients that do: {', '.join(able)}"
        )
    set_of_tcp = [*arm.tcp.stated, *arm.tcp.values]
    if set_of_tcp or arm.tcp.congestion_control is not None:
        key = set_of_tcp[0] if set_of_tcp else tcp.CONGESTION_CONTROL
        raise SettingError(key, "a site's TCP is its owner's, and not known here: leave this out")
    if arm.proxy.stack is not None:
        raise SettingError(PROXY, "a site is reached without a proxy of ours: leave this out")
    if arm.path.further:
        raise SettingError(next(iter(arm.path.further.values())), "a site is behind one emulated link: leave this out")


def check_sites(study: Study, plan: Plan, engine: str) -> None:
    """Raise InputError if a trial asks a site in virtual time, or for what its end alone could tell.

    `engine` is the run's default.
    """
    for trial in plan.trials:
        if not registry.stack(trial.server.stack).outside:
            continue
        if (trial.engine or engine) != _LIVE:
            raise InputError(
                f"study {study.id}, arm {trial.arm}: {trial.server.knobs[URL]} is outside, where time is real",
                "use --engine live (docs/guide/endpoints.md)",
            )
        if trial.capture.tcp or trial.capture.cpu:
            raise InputError(
                f"study {study.id} captures what the server's kernel does, and a site has none here",
                "leave capture.tcp and capture.cpu out",
            )
