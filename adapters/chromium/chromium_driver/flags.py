"""The browser's command line. Every arm shares it, but for what only a start can change (`Kind`)."""

import os
from dataclasses import dataclass
from enum import Enum
from typing import Any

from longlook_adapter.either import EITHER
from longlook_adapter.resolver import LOOPBACK, PATH

SHARED_MEMORY_NEEDED_BYTES = 512 * 1024 * 1024

QUIET = (
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--no-service-autorun",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-field-trial-config",
    "--disable-features=MediaRouter,NetworkTimeServiceQuerying,OptimizationHints,Translate",
    "--disable-gpu",
    "--disable-search-engine-choice-screen",
    "--disable-sync",
    "--metrics-recording-only",
    "--mute-audio",
    "--password-store=basic",
)
"""Switch off what would send, compute or start something that no job asked for."""

STEADY = (
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-hang-monitor",
    "--disable-renderer-backgrounding",
)
"""Keep a page in the background as fast as one in the foreground."""


PREFERENCES = {"net": {"network_prediction_options": 2}}
"""Never predict: else the browser opens the page's connection before the navigation's own request does, how much before
depends on the host's load, and no event has the time when it began."""

HTTPS_PORT = 443
_UNUSED_PORTS = (4, 5)
_HOSTS = {"h3": "quic", "h2": "tcp", "h3-or-h2": "www"}


@dataclass(frozen=True)
class Target:
    """The one server this browser connects to.

    QUIC is forced for `quic.DOMAIN` and never used for `tcp.DOMAIN`; for `www.DOMAIN` the browser decides.
    """

    domain: str
    address: str
    port: int
    spki_sha256: str

    def host(self, protocol: str) -> str:
        """Return the server's name for a protocol."""
        return f"{_HOSTS[protocol]}.{self.domain}"

    def url(self, protocol: str, path: str) -> str:
        """Return the URL of a path as the browser itself writes it: without the port where that is the scheme's own."""
        port = "" if self.port == HTTPS_PORT else f":{self.port}"
        return f"https://{self.host(protocol)}{port}{path}"


class Kind(Enum):
    """Browsers that differ in what is decided when they start; the value is the name of their network log."""

    USUAL = "browser"
    NO_EARLY_DATA = "browser-without-early-data"  # for jobs that resume without 0-RTT
    ASKING = "browser-with-resolver"  # names are asked of a resolver, which may have an HTTPS record for them


def asking(resolver_port: int) -> dict[str, Any]:
    """Return the file `Local State` of a browser that asks the resolver on a port of loopback, and nobody else."""
    return {"dns_over_https": {"mode": "secure", "templates": f"https://{LOOPBACK}:{resolver_port}{PATH}"}}


def arguments(target: Target, profile: str, kind: Kind) -> list[str]:
    """Return all flags, ending in the page that the browser starts with. Network logs go to NETLOGDIR, if set."""
    address = f"[{target.address}]" if ":" in target.address else target.address
    return [
        "--headless=new",
        "--no-sandbox",  # root in a user namespace; the only pages are our own
        f"--user-data-dir={profile}",
        "--remote-debugging-port=0",
        *QUIET,
        *STEADY,
        *([] if _shared_memory_free_bytes() >= SHARED_MEMORY_NEEDED_BYTES else ["--disable-dev-shm-usage"]),
        f"--host-resolver-rules={_rules(target, address, kind)}",
        f"--ignore-certificate-errors-spki-list={target.spki_sha256}",
        "--enable-quic",
        f"--origin-to-force-quic-on={_origins(target)}",
        *(_without_early_data() if kind is Kind.NO_EARLY_DATA else []),
        *_netlog(kind.value),
        "about:blank",
    ]


def _rules(target: Target, address: str, kind: Kind) -> str:
    """Return which names lead where; a name that a resolver is to be asked for is in no rule."""
    if kind is Kind.ASKING:
        return f"MAP * ^NOTFOUND,EXCLUDE {target.host(EITHER)},EXCLUDE {LOOPBACK}"
    return f"MAP *.{target.domain} {address},MAP * ^NOTFOUND"


def _origins(target: Target) -> str:
    """Return the origins on which QUIC is forced: the one for h3, and one where nothing listens.

    Chromium refuses QUIC to a host whose certificate leads to no root that it knows (QUIC_CERT_ROOT_NOT_KNOWN), but for
    the hosts of this flag, whatever their ports. So the second origin forces nothing, and lets Alt-Svc lead to QUIC.
    """
    unused = next(port for port in _UNUSED_PORTS if port != target.port)
    return f"{target.host('h3')}:{target.port},{target.host(EITHER)}:{unused}"


def _netlog(name: str) -> list[str]:
    folder = os.environ.get("NETLOGDIR")
    return [f"--log-net-log={folder}/{name}.json"] if folder else []


def _without_early_data() -> list[str]:
    return [
        "--force-fieldtrials=QUIC/Enabled/",
        "--force-fieldtrial-params=QUIC.Enabled:disable_tls_zero_rtt/true",
    ]


def _shared_memory_free_bytes() -> int:
    try:
        shared = os.statvfs("/dev/shm")
    except OSError:
        return 0
    return shared.f_bavail * shared.f_frsize
