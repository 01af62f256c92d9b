"""A measurement of a site as a study without a file: what `longlook measure` runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from longlook.core import (
    BASE_BOUND_MS,
    BY_DIGEST,
    COMPARE,
    SITE,
    USUAL_BASE_BOUND_MS,
    InputError,
    Problems,
    Scalar,
    SiteUrl,
    Study,
)
from longlook.study import SAMPLED, installed, parse_study

H2, H3 = "h2", "h3"
PAGE_LOAD_TIME = "page_load_time"
METRICS = (PAGE_LOAD_TIME, "time_to_first_byte", "handshake_time", "throughput")
UNKNOWN = (
    "Not known of a site: its programs, congestion control and windows, its processors' load, what it sent and lost; "
    "whether another machine answered the next request; what lies on the path to it, of which handshakes without "
    "emulation are measured before each trial. Known: every packet on the emulated link, both ways, and what the "
    "client reports."
)


@dataclass(frozen=True)
class MeasureSpec:
    """A measurement: the site, the networks over which it is asked, and the clients that ask."""

    url: SiteUrl
    networks: Mapping[str, Mapping[str, Scalar]]  # label → settings by dotted key
    h3_client: str = "visitor"
    h2_client: str = "visitor"
    h3_connection: str = "cold"
    h2_connection: str = "cold"
    ip: str = "4"
    compare: str = BY_DIGEST
    base_bound_ms: float = USUAL_BASE_BOUND_MS
    rounds: int | None = None  # None: as many as decide, at most `max_rounds`
    max_rounds: int = 40
    timeout: str = "60s"
    seed: int = 1


def make_study(spec: MeasureSpec) -> Study:
    """Return the study of a measurement; InputError with all that is wrong with it."""
    knobs: dict[str, Scalar] = {COMPARE: spec.compare, BASE_BOUND_MS: spec.base_bound_ms}
    server: dict[str, Any] = {"server": str(spec.url), "server_knobs": knobs, "engine": "live"}
    document: dict[str, Any] = {
        "schema": 1,
        "title": f"HTTP/3 against HTTP/2 of {spec.url}",
        "question": f"Does {spec.url.host} answer sooner over HTTP/3 than over HTTP/2, and on which networks?",
        "notes": UNKNOWN,
        **({"rounds": "decide", "max_rounds": spec.max_rounds} if spec.rounds is None else {"rounds": spec.rounds}),
        "seed": spec.seed,
        "around": "none",
        "losses": SAMPLED,
        "timeout": spec.timeout,
        "retries_when_invalid": 1,
        "metrics": list(METRICS),
        "arms": {
            H2: {"label": _label("HTTP/2", spec.h2_client, spec.h2_connection), "protocol": H2, **server}
            | {"client": spec.h2_client, "connection": spec.h2_connection},
            H3: {"label": _label("HTTP/3", spec.h3_client, spec.h3_connection), "protocol": H3, **server}
            | {"client": spec.h3_client, "connection": spec.h3_connection},
        },
        "workload": {"kind": SITE},
        "network": {"ip": spec.ip} if spec.ip != "4" else {},
        "factors": [{"name": "network", "levels": [{"label": label, **sets} for label, sets in spec.networks.items()]}],
        "contrasts": [{"name": PAGE_LOAD_TIME, "baseline": H2, "contender": H3, "metric": PAGE_LOAD_TIME}],
        "analysis": {"alpha": 0.05},
    }
    study = parse_study("measure", document, Problems("measure"), installed())
    if spec.rounds is not None and spec.rounds < study.analysis.min_rounds:
        raise InputError(f"--rounds {spec.rounds}: a verdict needs {study.analysis.min_rounds} rounds or more")
    return study


def _label(protocol: str, client: str, connection: str) -> str:
    return f"{protocol} ({client}, {connection})"
