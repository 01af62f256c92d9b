"""Run a measurement, and say beforehand what it would send."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urljoin

from longlook.core import InputError, SiteUrl, SiteUrlError, parse_site_url
from longlook.instruments.measure.spec import MeasureSpec, make_study
from longlook.outside import LOOK_REQUESTS, Budget, LeadsElsewhereError, SiteAccess
from longlook.pipeline import Observer, Result, RunOptions, run_study

_MOST_HOPS = 5
_HANDSHAKES = 4
"""Without a request, before each trial: three of TCP, the last with TLS, and one of QUIC."""


@dataclass(frozen=True)
class Intent:
    """The requests that a measurement would send at the most, and whom it would ask, if no trial is repeated."""

    url: SiteUrl
    user_agent: str
    resolver: str
    trials: int
    requests: int
    handshakes: int
    names: int  # queries to DNS
    spent_requests: int  # of the host, within the last hour
    spent_bytes: int
    most_requests: int
    most_bytes: int


def intent(spec: MeasureSpec, access: SiteAccess) -> Intent:
    """Return what a measurement would send, without sending any of it."""
    study = make_study(spec)
    trials = 2 * len(spec.networks) * study.rounds
    primes = sum(connection != "cold" for connection in (spec.h2_connection, spec.h3_connection))
    spent = Budget(spec.url.host, access.most_requests, access.most_bytes).spent()
    return Intent(
        spec.url,
        access.user_agent,
        access.resolver or "this machine's own",
        trials,
        LOOK_REQUESTS + trials + primes * trials // 2,
        _HANDSHAKES * trials,
        2 * (study.rounds + 1),
        spent.requests,
        spent.bytes,
        access.most_requests,
        access.most_bytes,
    )


def measure(
    spec: MeasureSpec,
    out: Path,
    options: RunOptions,
    observer: Observer,
    *,
    follow: bool,
    say: Callable[[str], None],
) -> tuple[MeasureSpec, Result]:
    """Run a measurement in the folder `out`; `follow`: where the URL leads, as long as that is on the same host.

    Return the measurement of the place that was measured, and its result.
    """
    for _ in range(_MOST_HOPS):
        try:
            return spec, run_study(make_study(spec), out, options, observer)
        except LeadsElsewhereError as error:
            if not follow:
                raise
            spec = replace(spec, url=_followed(spec.url, error))
            say(f"followed to {spec.url}")
    raise InputError(f"{spec.url} leads on and on: {_MOST_HOPS} redirects", "name the last place")


def _followed(url: SiteUrl, error: LeadsElsewhereError) -> SiteUrl:
    """Return the place to which a site leads; InputError if it is on another host, which nobody named."""
    try:
        place = parse_site_url(urljoin(str(url), error.place))
    except SiteUrlError as wrong:
        raise InputError(f"{error.message}; {wrong}", "name the URL that you mean") from error
    if place.host != url.host or place == url:
        raise InputError(
            f"{error.message}; nothing is sent to a host that you do not name",
            f"longlook measure {place}, if you mean it",
        ) from error
    return place
