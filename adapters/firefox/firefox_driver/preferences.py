"""The one server that the browser connects to, and the preferences of its profile."""

import json
import os
from dataclasses import dataclass

from longlook_adapter.either import EITHER
from longlook_adapter.resolver import LOOPBACK, PATH

HTTPS_PORT = 443
Value = bool | int | str

_LONGER_THAN_A_TRIAL_MS = 24 * 3600 * 1000
_TRR_ONLY = 3
_HOSTS = {"h3": "quic", "h2": "tcp", EITHER: "www"}

PLAYING: dict[str, Value] = {
    "media.autoplay.blocking_policy": 0,
    "media.autoplay.default": 0,
    "media.block-autoplay-until-in-foreground": False,
    "media.hardware-video-decoding.enabled": False,
    "privacy.reduceTimerPrecision": False,
    "privacy.reduceTimerPrecision.unconditional": False,
}
"""A video plays without a click, and is decoded by the processor. The page's clock is as fine as Firefox's own."""

QUIET: dict[str, Value] = {
    "app.normandy.enabled": False,
    "app.update.enabled": False,
    "browser.cache.disk.enable": False,
    "browser.cache.memory.enable": False,
    "browser.chrome.site_icons": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.systemAddon.update.enabled": False,
    "media.gmp-manager.updateEnabled": False,
    "media.gmp-manager.url": "data:,#",
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.dns.disablePrefetch": True,
    "network.http.speculative-parallel-limit": 0,
    "network.prefetch-next": False,
    "remote.prefs.recommended": True,
    "security.OCSP.enabled": 0,
    "services.settings.server": "data:,#",
    "toolkit.telemetry.enabled": False,
}
"""Switch off everything that would send or fetch something that no job asked for."""


@dataclass(frozen=True)
class Target:
    """QUIC is forced for `quic.DOMAIN`, and never used for `tcp.DOMAIN`; for `www.DOMAIN` the browser decides."""

    domain: str
    address: str
    port: int

    def host(self, protocol: str) -> str:
        """Return the server's name for a protocol."""
        return f"{_HOSTS[protocol]}.{self.domain}"

    def url(self, protocol: str, path: str) -> str:
        """Return the URL of a path as the browser itself writes it."""
        port = "" if self.port == HTTPS_PORT else f":{self.port}"
        return f"https://{self.host(protocol)}{port}{path}"


ONE_PROTOCOL: dict[str, Value] = {
    "network.http.http3.backup_timer_delay": _LONGER_THAN_A_TRIAL_MS,
    "network.http.http3.parallel_fallback_conn_limit": 0,
}
"""Without them Firefox tries TCP beside a QUIC handshake that takes 100 ms, and gives QUIC up where nothing listens.
They are for jobs of one protocol: where Firefox is to choose, it has its own values."""


def asking(target: Target, port: int) -> dict[str, Value]:
    """Return the preferences with which names are asked of a resolver on a port of loopback, and of nobody else.

    Only of such a resolver (DNS over HTTPS) does Firefox take HTTPS records here. The last one clears its cache.
    """
    return {
        "network.dns.forceResolve": "",
        "network.trr.allow-rfc1918": True,  # the laboratory's addresses
        "network.trr.bootstrapAddr": LOOPBACK,
        "network.trr.confirmationNS": "skip",
        "network.trr.uri": f"https://dns.{target.domain}:{port}{PATH}",
        "network.trr.mode": _TRR_ONLY,
    }


def at_start(target: Target) -> dict[str, Value]:
    """Return the preferences of the profile."""
    return {
        **QUIET,
        **PLAYING,
        "network.dns.forceResolve": target.address,
        "network.http.http3.alt-svc-mapping-for-testing": f'{target.host("h3")};h3=":{target.port}"',
        "network.http.http3.disable_when_third_party_roots_found": False,  # the authority is ours
        "network.http.http3.enable": True,
        "network.http.http3.enable_qlog": bool(os.environ.get("QLOGDIR")),  # they go to its temporary folder
        "network.proxy.type": 0,
    }


def preferences(target: Target) -> str:
    """Return the text of the profile's user.js, for jobs of one protocol."""
    entries = {**at_start(target), **ONE_PROTOCOL}
    return "".join(f'user_pref("{name}", {json.dumps(value)});\n' for name, value in sorted(entries.items()))
