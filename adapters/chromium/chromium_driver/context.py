"""A browser context: cookies, tickets, caches and connections of its own, gone when it is disposed of."""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from longlook_adapter import sockets
from longlook_adapter.errors import DriverError

from chromium_driver.cdp import CallError, Cdp
from chromium_driver.flags import Target
from chromium_driver.tab import Tab

NET_INTERNALS = "chrome://net-internals/#sockets"
CLOSE_CONNECTIONS = "chrome.send('closeIdleSockets'); chrome.send('flushSocketPools')"
CLOSE_LIMIT_S = 5.0


class Context:
    """Use as an async context manager: at its end every connection to the server is closed, as the kernel confirms."""

    def __init__(self, cdp: Cdp, target: Target) -> None:
        self._server = target
        self.cdp = cdp
        self.id = ""

    async def __aenter__(self) -> Self:
        self.id = (await self.cdp.call("Target.createBrowserContext", disposeOnDetach=True))["browserContextId"]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            async with asyncio.timeout(CLOSE_LIMIT_S):
                await self.cdp.call("Target.disposeBrowserContext", browserContextId=self.id)
        except TimeoutError as late:
            raise DriverError(f"the browser does not dispose of a context within {CLOSE_LIMIT_S:g} s") from late
        await self.until_closed()

    async def open_tab(self) -> Tab:
        """Open an empty tab, ready for a measurement."""
        tab = await Tab.open(self.cdp, self.id)
        await tab.prepare()
        return tab

    async def open_closer(self) -> "Closer":
        """Open a tab that can close this context's connections while its tickets stay."""
        return Closer(await Tab.open(self.cdp, self.id, NET_INTERNALS), self.until_closed)

    async def until_closed(self) -> None:
        """Return when the kernel has no connection to the server left; DriverError where it keeps one."""
        address, port = self._server.address, self._server.port
        try:
            await sockets.wait_until_closed(address, port, CLOSE_LIMIT_S)
        except TimeoutError as error:
            raise DriverError(
                f"connections to {address}:{port} are still open {CLOSE_LIMIT_S:g} s after they were closed"
            ) from error


class Closer:
    """A tab with the browser's own page about its sockets: the only place that can close a context's connections."""

    def __init__(self, tab: Tab, until_closed: Callable[[], Awaitable[None]]) -> None:
        self._tab = tab
        self._until_closed = until_closed

    async def close_connections(self) -> None:
        """Close all connections of the context, return when `until_closed` has, and close the tab."""
        await self._wait_for_page()
        await self._tab.evaluate(CLOSE_CONNECTIONS)
        await self._until_closed()
        await self._tab.close()

    async def _wait_for_page(self) -> None:
        try:
            async with asyncio.timeout(CLOSE_LIMIT_S):
                while not await self._ready():
                    await asyncio.sleep(sockets.POLL_S)
        except TimeoutError as error:
            raise DriverError(f"{NET_INTERNALS} does not appear: cannot close connections") from error

    async def _ready(self) -> bool:
        try:
            answer = await self._tab.evaluate("typeof chrome.send === 'function' && location.protocol === 'chrome:'")
        except CallError:  # between two documents
            return False
        return answer is True
