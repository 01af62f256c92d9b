"""Who asks sites, by which resolver and authorities, and how much: what a run may do in the world outside."""

import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from longlook import __version__
from longlook.core import InputError

CONTACT, RESOLVER, AUTHORITIES = "LONGLOOK_CONTACT", "LONGLOOK_RESOLVER", "LONGLOOK_SITE_CA"
"""Variables for what options give: an address of the user's, a DNS server, a file of authorities."""
PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_CONTACT = re.compile(r"[!-~]+@[!-~]+\.[!-~]+|https?://[!-~]+")
_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")


@dataclass(frozen=True)
class SiteAccess:
    """The limits and the means of a run that asks sites.

    `contact` is the user's, an e-mail address or a URL, and goes out with every request. `most_requests` and
    `most_bytes` hold for a host and an hour, over all runs of this cache; `pause_s` is between two rounds.
    """

    contact: str
    authorities: str
    resolver: str = ""  # empty: the machine's own
    most_requests: int = 300
    most_bytes: int = 1_000_000_000
    pause_s: float = 0.5

    def __post_init__(self) -> None:
        """Refuse what is no contact, and authorities that cannot be read."""
        if not _CONTACT.fullmatch(self.contact):
            raise InputError(
                f"{self.contact!r} is no e-mail address and no URL" if self.contact else "whose requests are these?",
                f"a host that is measured must be able to ask: --contact you@example.org, or {CONTACT}",
            )
        if not Path(self.authorities).is_file():
            raise InputError(f"{self.authorities}: no such file of certificates", "--ca FILE, in PEM")

    @property
    def user_agent(self) -> str:
        """The value of User-Agent: the tool with its version, and whom to ask."""
        return f"longlook/{__version__} (+{self.contact})"

    @classmethod
    def from_environment(
        cls,
        environment: Mapping[str, str] = os.environ,
        *,
        contact: str | None = None,
        ca: Path | None = None,
        resolver: str | None = None,
        **limits: float,
    ) -> "SiteAccess":
        """Return the access that options give; the environment gives the rest."""
        authorities = str(ca.absolute()) if ca is not None else environment.get(AUTHORITIES) or system_authorities()
        return cls(
            contact if contact is not None else environment.get(CONTACT, ""),
            authorities,
            environment.get(RESOLVER, "") if resolver is None else resolver,
            **limits,  # type: ignore[arg-type]
        )


def system_authorities() -> str:
    """Return the file of authorities that this machine trusts; InputError if it has none."""
    candidates = [ssl.get_default_verify_paths().cafile, *_BUNDLES]
    for candidate in filter(None, candidates):
        if Path(candidate).is_file():
            return str(Path(candidate).resolve())
    raise InputError("this machine has no file of certificate authorities", "apt install ca-certificates, or --ca FILE")


def ignored_proxies(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the variables of the environment that name a proxy: nothing here goes through one."""
    return sorted(name for name, value in environment.items() if name.lower() in PROXIES and value)
