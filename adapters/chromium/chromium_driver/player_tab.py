"""A tab in which a player plays. Its page and the player come from the driver, so that neither crosses the network."""

import asyncio
import base64
from collections.abc import Callable, Mapping
from typing import Any

from longlook_player.play import PAGE, PAGE_TYPE

from chromium_driver.cdp import CallError, Cdp
from chromium_driver.context import Context
from chromium_driver.tab import Load, Tab

_HEADERS = [{"name": "Content-Type", "value": PAGE_TYPE}]


class PlayerTab(Tab):
    """Use `open_in`, then `show`, then `play`."""

    def __init__(self, cdp: Cdp, target: str, session: str) -> None:
        super().__init__(cdp, target, session)
        self._paused: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._loaded = asyncio.Event()

    @classmethod
    async def open_in(cls, context: Context) -> "PlayerTab":
        """Open an empty tab, ready for a play."""
        tab = await cls.open(context.cdp, context.id)
        await tab.prepare()
        return tab

    async def show(self, url: str) -> None:
        """Show the player's page as if it came from `url`, and ask the network for nothing."""
        await self.call("Fetch.enable", patterns=[{"urlPattern": url, "resourceType": "Document"}])
        navigation = asyncio.create_task(self.call("Page.navigate", url=url))
        try:
            await asyncio.wait((navigation, self._paused), return_when=asyncio.FIRST_COMPLETED)
            if not self._paused.done():
                raise CallError(f"{url} was not held back: {navigation.result()}")
            await self.call(
                "Fetch.fulfillRequest",
                requestId=self._paused.result(),
                responseCode=200,
                responseHeaders=_HEADERS,
                body=base64.b64encode(PAGE.encode()).decode(),
            )
            if text := (await navigation).get("errorText"):
                raise CallError(str(text))
            await self._loaded.wait()
        finally:
            navigation.cancel()
        await self.call("Fetch.disable")

    async def run(self, script: str) -> None:
        """Run a script in the page; CallError where it throws."""
        answer = await self.call("Runtime.evaluate", expression=f"{script}\n;undefined", returnByValue=True)
        if "exceptionDetails" in answer:
            raise CallError(_thrown(answer))

    async def play(self, expression: str, limit_s: float, ends: Callable[[str], list[str]]) -> tuple[Load, Any]:
        """Return what crossed the network and the value of a promise; None where it failed, with the load's `error`."""
        load = self._load = Load()
        self._ends = ends
        asked = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        call = asyncio.create_task(self.call("Runtime.evaluate", **asked))
        try:
            await asyncio.wait((call, self._crashed), timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
            if self._crashed.done():
                load.error = "the page's process crashed"
            elif not call.done():
                load.error = "timed out: the job's time limit has passed"
            elif "exceptionDetails" in (answer := call.result()):
                load.error = _thrown(answer)
            else:
                return load, answer["result"].get("value")
        except CallError as error:
            load.error = str(error)
        finally:
            call.cancel()
        return load, None

    def _on_event(self, method: str, params: Mapping[str, Any]) -> None:
        if method == "Fetch.requestPaused" and not self._paused.done():
            self._paused.set_result(params["requestId"])
        if method == "Page.loadEventFired":
            self._loaded.set()
        super()._on_event(method, params)


def _thrown(answer: Mapping[str, Any]) -> str:
    details = answer["exceptionDetails"]
    return str(details.get("exception", {}).get("description") or details.get("text"))
