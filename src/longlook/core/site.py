"""Servers of the world outside: the URL that names one, and what can be set of it. Standard library only.

A site is the server of an arm in place of a program: `server = "https://www.example.org/path"`
(docs/guide/endpoints.md).
"""

import re
from dataclasses import dataclass

SITE = "site"
"""The name of the stack, and of the workload, of servers of the world outside."""
URL, COMPARE, BASE_BOUND_MS = "url", "compare", "base_bound"
"""Knobs of a site: its URL, how bodies of a round are compared, by how much the path to it may change in a round."""
USUAL_BASE_BOUND_MS = 5.0
BY_DIGEST, BY_SIZE = "digest", "size"
TCP_BASE, QUIC_BASE = "tcp", "quic"
"""Transports whose handshakes with a site are measured without emulation."""
SITE_ADDRESS_VARIABLE = "LONGLOOK_SITE_ADDRESS"
"""The variable of the program that stands for a site: the address of the site in this round (adapters/CONTRACT.md)."""

_HOST = re.compile(r"(?=.{1,253}\Z)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{1,63}")
_PATH = re.compile(r"/[!-~]*")
_LITERAL = re.compile(r"[0-9.]+")
_PORT = 443


class SiteUrlError(ValueError):
    """A text that names no site; its text says why, without the URL."""


@dataclass(frozen=True)
class SiteUrl:
    """A host and a path of it, with the query."""

    host: str
    path: str

    def __str__(self) -> str:
        """Return the URL in canonical form."""
        return f"https://{self.host}{self.path}"


def is_site_url(text: object) -> bool:
    """Return whether a text is meant as the URL of a site, right or wrong."""
    return isinstance(text, str) and "://" in text


def parse_site_url(text: str) -> SiteUrl:
    """Return the site of an https URL; SiteUrlError if the text is none that can be measured."""
    from urllib.parse import urlsplit  # guests import this module, and read no URL

    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError as error:
        raise SiteUrlError(f"no URL: {error}") from error
    if parts.scheme.lower() != "https":
        raise SiteUrlError("HTTP/3 and HTTP/2 are compared over https alone: write https://HOST/PATH")
    if parts.username is not None or parts.password is not None:
        raise SiteUrlError("a URL with a user or a password would end up in reports: leave them out")
    if parts.fragment:
        raise SiteUrlError("a fragment (#…) is never sent to a server: leave it out")
    if port not in (None, _PORT):
        raise SiteUrlError(f"port {port}: sites are measured at port {_PORT} alone")
    host, path = (parts.hostname or "").rstrip("."), parts.path or "/"
    if not host.isascii():
        raise SiteUrlError("write the host in its ASCII form (xn--…)")
    if _LITERAL.fullmatch(host) or ":" in host or not _HOST.fullmatch(host):
        raise SiteUrlError(f"{host!r} is no host name, such as www.example.org, for which a certificate stands")
    path += f"?{parts.query}" if parts.query else ""
    if not _PATH.fullmatch(path):
        raise SiteUrlError("the path has characters that must be percent-encoded")
    return SiteUrl(host, path)
