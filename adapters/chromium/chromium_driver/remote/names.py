"""Names of the server that no load has used yet.

The browser itself remembers which ones were: a cookie, set before a load, marks its name. A browser keeps what it
learnt of a server (its round-trip time, for one) as long as it keeps cookies, beyond its end.
"""

import secrets
from collections.abc import Iterable

from chromium_driver.cdp import Cdp
from chromium_driver.remote.errors import ElsewhereError
from chromium_driver.tab import Tab

_COOKIE = "longlook-used"
_KEPT_S = 10 * 365 * 86400


class Names:
    """Hands out names, each once; `quic_hosts` are those for which the browser was started to speak QUIC."""

    def __init__(self, domain: str, quic_hosts: Iterable[str], used: set[str]) -> None:
        self._domain = domain
        self._unused = [name for name in quic_hosts if name not in used]
        self._all = len(tuple(quic_hosts))

    @classmethod
    async def of(cls, cdp: Cdp, domain: str, quic_hosts: tuple[str, ...]) -> "Names":
        """Return the names that the browser has not used."""
        cookies = (await cdp.call("Storage.getCookies"))["cookies"]
        return cls(domain, quic_hosts, {cookie["domain"] for cookie in cookies if cookie["name"] == _COOKIE})

    def take(self, protocol: str) -> str:
        """Return a name for one load; ElsewhereError where none is left."""
        if protocol != "h3":  # QUIC is forced for listed names alone; any other gets TCP
            return f"t{secrets.token_hex(8)}.{self._domain}"
        if not self._unused:
            raise ElsewhereError(
                f"all {self._all} names for QUIC that the browser was started with are used: "
                "start it again with what `longlook phone` prints"
            )
        # A browser that is killed forgets marks of the last half minute; any of many is hardly one of those.
        return self._unused.pop(secrets.randbelow(len(self._unused)))


async def mark(tab: Tab, url: str) -> None:
    """Let the browser remember that a name is used, in a cookie that it will never send."""
    now_s = (await tab.evaluate("Date.now()")) / 1e3  # theirs: it decides when a cookie expires
    await tab.call(
        "Network.setCookie", name=_COOKIE, value="1", url=url, path="/longlook-used", expires=now_s + _KEPT_S
    )
