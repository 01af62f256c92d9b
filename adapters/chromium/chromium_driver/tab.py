"""One tab of one browser context, and one load in it."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from longlook_adapter.paint import LIMIT_S, PAINTS, Paints

from chromium_driver.cdp import CallError, Cdp
from chromium_driver.recorder import Recorder

BLOCKED = ["*/favicon.ico"]
"""The browser fetches these beside a page without being asked; they would share the measured connection."""

NAVIGATION_TIMES = (
    "(() => { const n = performance.getEntriesByType('navigation')[0]; return [n.responseStart, n.loadEventStart]; })()"
)


@dataclass
class Load:
    """The result of a navigation. Times in seconds of the browser's clock; None where it did not come so far."""

    recorder: Recorder = field(default_factory=Recorder)
    ends: list[str] = field(default_factory=list)  # local addresses, at the first answer
    ends_by_connection: dict[int, list[str]] = field(default_factory=dict)  # the same, at the first answer of each
    error: str | None = None
    is_download: bool = False
    t_start_s: float | None = None
    t_first_byte_s: float | None = None
    t_loaded_s: float | None = None
    t_first_contentful_paint_s: float | None = None
    t_largest_contentful_paint_s: float | None = None


class Tab:
    """A page of its own, empty until `navigate`."""

    def __init__(self, cdp: Cdp, target: str, session: str) -> None:
        self._cdp = cdp
        self._target = target
        self._session = session
        self._load: Load | None = None
        self._ends: Callable[[str], list[str]] = lambda _protocol: []
        self._changed = asyncio.Event()
        self._crashed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(cls, cdp: Cdp, context: str | None, url: str = "about:blank") -> Self:
        """Open a new tab in a browser context, or in the browser's own (None)."""
        where = {} if context is None else {"browserContextId": context}
        target = (await cdp.call("Target.createTarget", url=url, **where))["targetId"]
        session = (await cdp.call("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        tab = cls(cdp, target, session)
        cdp.listen(session, tab._on_event)
        return tab

    async def prepare(self) -> None:
        """Report network and page events, use no cache, fetch nothing unasked."""
        await asyncio.gather(
            self.call("Page.enable"),
            self.call("Inspector.enable"),
            self.call("Network.enable", maxTotalBufferSize=0, maxResourceBufferSize=0),
            self.call("Network.setCacheDisabled", cacheDisabled=True),
            self.call("Network.setBlockedURLs", urls=BLOCKED),
        )

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of this tab."""
        return await self._cdp.call(method, self._session, **params)

    async def evaluate(self, expression: str, *, awaits: bool = False) -> Any:
        """Return the value of a JavaScript expression in the page, or of the promise that it `awaits`."""
        answer = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=awaits)
        if "exceptionDetails" in answer:
            raise CallError(f"{expression}: {answer['exceptionDetails'].get('text')}")
        return answer["result"].get("value")

    async def navigate(self, url: str, deadline_s: float, ends: Callable[[str], list[str]]) -> Load:
        """Load a page until its load event and the end of every request; failure is a result, never an exception.

        `deadline_s` is a time of the monotonic clock. `ends` returns this machine's addresses of connections to the
        server over a protocol; it is called at the first answer of each connection, as Chromium moves a QUIC connection
        to another port when its path falls silent.
        """
        load = self._load = Load()
        self._ends = ends
        timeout_s = max(0.0, deadline_s - time.monotonic())
        steps = asyncio.create_task(self._navigate(url, load))
        try:
            await asyncio.wait((steps, self._crashed), timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            finished = steps.done()
        finally:
            steps.cancel()
        if self._crashed.done():
            load.error = "the page's process crashed"
        elif finished:
            load.error = steps.result()
        else:
            load.error = "timed out: the job's time limit has passed"
        if load.error is not None:
            load.recorder.give_up(load.error)
        return load

    async def read_paints(self, load: Load) -> None:
        """Note when this tab showed the contents of a load that it made. Nothing is noted of one that failed."""
        if load.t_start_s is None:
            return
        with contextlib.suppress(CallError, TimeoutError):  # the load itself is there
            async with asyncio.timeout(LIMIT_S):
                paints = Paints.read(await self.evaluate(PAINTS, awaits=True))
                load.t_first_contentful_paint_s = _after(load.t_start_s, paints.first_contentful_ms)
                load.t_largest_contentful_paint_s = _after(load.t_start_s, paints.largest_contentful_ms)

    async def close(self) -> None:
        """Close the tab."""
        self._cdp.forget(self._session)
        await self._cdp.call("Target.closeTarget", targetId=self._target)

    async def _navigate(self, url: str, load: Load) -> str | None:
        """Go through a load; return the error that ended it early, or None."""
        try:
            answer = await self.call("Page.navigate", url=url)
            if text := answer.get("errorText"):
                load.is_download = bool(answer.get("isDownload"))
                return str(text)
            while not load.recorder.loaded:
                await self._next_event()
            # This call is a barrier too: what the page reported before it has arrived when it returns.
            times_ms = await self.evaluate(NAVIGATION_TIMES)
            while load.recorder.in_flight:
                await self._next_event()
        except CallError as error:
            return str(error)
        _place(load, *times_ms)
        return None

    async def _next_event(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _on_event(self, method: str, params: Mapping[str, Any]) -> None:
        if method == "Inspector.targetCrashed" and not self._crashed.done():
            self._crashed.set_result(None)
        if self._load is not None:
            self._load.recorder.on_event(method, params)
            self._note_ends(self._load)
        self._changed.set()

    def _note_ends(self, load: Load) -> None:
        for identity, connection in load.recorder.connections.items():
            if identity not in load.ends_by_connection:
                load.ends_by_connection[identity] = self._ends(connection.protocol)
                load.ends = load.ends or load.ends_by_connection[identity]


def _after(start_s: float, milliseconds: float | None) -> float | None:
    return None if milliseconds is None else start_s + milliseconds / 1e3


def _place(load: Load, response_start_ms: float, load_event_start_ms: float) -> None:
    """Put the page's own times (milliseconds since its navigation began) on the browser's clock.

    Both clocks saw the first byte of the page: `responseStart` is the network's receiveHeadersStart, rounded to 0.1 ms.
    """
    document = load.recorder.exchanges[0] if load.recorder.exchanges else None
    if document is None or document.t_first_byte_s is None:
        return
    load.t_first_byte_s = document.t_first_byte_s
    load.t_start_s = document.t_first_byte_s - response_start_ms / 1e3
    load.t_loaded_s = load.t_start_s + load_event_start_ms / 1e3
