"""A tab in which a player plays. Its page and the player come from the driver, so that neither crosses the network."""

import asyncio
from collections.abc import Mapping
from typing import Any

from longlook_player.play import PAGE, PAGE_TYPE

from firefox_driver.bidi import Bidi, CallError
from firefox_driver.recorder import Recorder
from firefox_driver.report import Load

POLL_S = 0.002
SETTLE_LIMIT_S = 5.0
"""The longest from what the page has to the browser's event about it, which another process sends."""


class PlayerTab:
    """Use `show`, then `run`, then `play`."""

    def __init__(self, bidi: Bidi, tab: str) -> None:
        self._bidi, self._tab = bidi, tab

    async def show(self, url: str) -> None:
        """Show the player's page as if it came from `url`, and ask the network for nothing; CallError if it fails."""
        held: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def listen(_method: str, params: Mapping[str, Any]) -> None:
            if params.get("isBlocked") and params.get("context") == self._tab and not held.done():
                held.set_result(params["request"]["request"])

        self._bidi.listener = listen
        pattern = {"type": "string", "pattern": url}
        made = await self._bidi.call(
            "network.addIntercept", phases=["beforeRequestSent"], contexts=[self._tab], urlPatterns=[pattern]
        )
        navigation = asyncio.create_task(
            self._bidi.call("browsingContext.navigate", context=self._tab, url=url, wait="complete")
        )
        try:
            await asyncio.wait((navigation, held), return_when=asyncio.FIRST_COMPLETED)
            if not held.done():
                raise CallError(f"{url} was not held back: {navigation.result()}")
            await self._bidi.call(
                "network.provideResponse",
                request=held.result(),
                statusCode=200,
                reasonPhrase="OK",
                headers=[{"name": "Content-Type", "value": {"type": "string", "value": PAGE_TYPE}}],
                body={"type": "string", "value": PAGE},
            )
            await navigation
        finally:
            navigation.cancel()
            self._bidi.listener = None
        await self._bidi.call("network.removeIntercept", intercept=made["intercept"])

    async def run(self, script: str) -> None:
        """Run a script in the page; CallError where it throws."""
        await self._evaluate(f"{script}\n;undefined", wait=False)

    async def play(self, url: str, expression: str, limit_s: float) -> tuple[Load, str | None]:
        """Return what crossed the network, and the text of a promise: the record of a play.

        It is None where it failed, with the load's `error`.
        """
        load = Load(url, Recorder(self._tab))
        self._bidi.listener = load.recorder.on_event
        try:
            async with asyncio.timeout(limit_s):
                return load, await self._evaluate(expression, wait=True)
        except TimeoutError:
            load.error = "timed out: the job's time limit has passed"
        except CallError as error:
            load.error = str(error)
        return load, None

    async def settle(self, load: Load, urls: set[str]) -> None:
        """Wait for the browser's own events about requests that have ended in the page."""
        recorder = load.recorder
        waited_s = 0.0
        while any(recorder.exchanges[each].url in urls for each in recorder.in_flight) and waited_s < SETTLE_LIMIT_S:
            await asyncio.sleep(POLL_S)
            waited_s += POLL_S

    async def _evaluate(self, expression: str, *, wait: bool) -> Any:
        answer = await self._bidi.call(
            "script.evaluate", expression=expression, target={"context": self._tab}, awaitPromise=wait
        )
        if answer["type"] != "success":
            raise CallError(str(answer["exceptionDetails"]["text"]))
        return answer["result"].get("value")
