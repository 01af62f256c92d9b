"""This machine's ends of the connections of one load. BiDi does not report them; the browser's own code can tell.

Firefox does not connect QUIC's socket, so that the kernel does not know which one is whose.
"""

import asyncio
import json
from collections.abc import Collection

from longlook_adapter.errors import DriverError
from longlook_adapter.sockets import POLL_S, connections, own_address, unconnected

from firefox_driver.browser import Browser
from firefox_driver.recorder import Exchange

CLOSE_LIMIT_S = 10.0

_WATCH = """(() => {
  if (globalThis.portsOfAnswers) return;
  globalThis.portsOfAnswers = new Map();
  Services.obs.addObserver((channel) => {
    channel.QueryInterface(Ci.nsIHttpChannel);
    portsOfAnswers.set(channel.URI.spec, channel.QueryInterface(Ci.nsIHttpChannelInternal).localPort);
  }, "http-on-examine-response");
})()"""
_TAKE = "(() => { const all = JSON.stringify([...portsOfAnswers]); portsOfAnswers.clear(); return all; })()"


class Ends:
    """Which socket carried which request, of a server at `address:port`, one load after another."""

    def __init__(self, browser: Browser, address: str, port: int) -> None:
        self._browser, self._address, self._port = browser, address, port
        self._quic: list[str] = []  # sockets of QUIC's connections in the load

    async def watch(self) -> None:
        """Note from now on which port each answer comes to."""
        await self._browser.evaluate(_WATCH)

    async def assign(self, exchanges: Collection[Exchange]) -> None:
        """Set `local` of the requests of a load that were answered."""
        ports = dict(json.loads(await self._browser.evaluate(_TAKE)))
        own = own_address(self._address)
        host = f"[{own}]" if ":" in own else own
        for exchange in exchanges:
            port = ports.get(exchange.url)
            exchange.local = f"{host}:{port}" if port else None
        self._quic = [each.local for each in exchanges if each.protocol == "h3" and each.local is not None]

    async def until_closed(self) -> None:
        """Return when the load's connections are closed; DriverError where one stays."""
        try:
            async with asyncio.timeout(CLOSE_LIMIT_S):
                while self._open():
                    await asyncio.sleep(POLL_S)
        except TimeoutError as error:
            raise DriverError(
                f"{', '.join(self._open())} still open {CLOSE_LIMIT_S:g} s after all connections were closed"
            ) from error

    def _open(self) -> list[str]:
        there = unconnected(self._address)
        return [*connections("h2", self._address, self._port), *(local for local in self._quic if local in there)]
