"""A session: one warm browser, one job after another, each in a user context of its own."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from longlook_adapter import paint
from longlook_adapter.browserjob import HTTPS_RECORD, NOTHING, BrowserJob, PlayJob
from longlook_adapter.either import EITHER
from longlook_adapter.errors import DriverError, UnsupportedError
from longlook_adapter.lines import emit
from longlook_adapter.resolver import Resolver
from longlook_adapter.sockets import connections
from longlook_player.play import read_player

from firefox_driver import choosing, playing
from firefox_driver.bidi import CallError
from firefox_driver.browser import Browser
from firefox_driver.ends import Ends
from firefox_driver.player_tab import PlayerTab
from firefox_driver.preferences import ONE_PROTOCOL, Target, asking
from firefox_driver.recorder import Recorder
from firefox_driver.report import Load, report_connections, report_load

T = TypeVar("T")

HOUSEKEEPING_LIMIT_S = 30.0
POLL_S = 0.002
LOADED = """JSON.stringify((() => {
  const n = performance.getEntriesByType('navigation')[0];
  return [performance.timeOrigin, n.responseStart, n.loadEventStart];
})())"""


class Session:
    """Use as an async context manager: at its end no browser runs and no folder is left."""

    def __init__(
        self, browser: Browser, target: Target, resolver: Resolver, players: str = "", decoder: str = ""
    ) -> None:
        self._browser, self._target, self._resolver = browser, target, resolver
        self._players, self._decoder = players, decoder

    async def __aenter__(self) -> Self:
        self._resolver.__enter__()
        try:
            await self._in_time(self._read_mappings(), HOUSEKEEPING_LIMIT_S)
        except (CallError, DriverError, TimeoutError) as error:
            await self.__aexit__(None, None, None)
            raise DriverError(f"the browser shows no page: {error or 'timed out'}") from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._resolver.__exit__(kind, error, trace)
        await self._browser.close()

    async def run(self, job: BrowserJob) -> None:
        """Do one job and print its lines up to `done`; UnsupportedError leaves the session as it was."""
        target = self._target
        if (job.address, job.port) != (target.address, target.port):
            raise UnsupportedError(
                f"server {job.address}:{job.port}: this session was started for {target.address}:{target.port}"
            )
        script = read_player(self._players, job.play.player) if job.play else ""
        try:
            ok = await self._in_time(self._run(job, script), job.timeout_s + HOUSEKEEPING_LIMIT_S)
        except TimeoutError as error:
            raise DriverError("the browser hangs: a job takes far longer than its time limit") from error
        emit("done", ok=ok)

    async def _read_mappings(self) -> None:
        """Let Firefox read what hosts are mapped to, by a page that asks the network for nothing.

        It reads that with its first request, which does not wait for it: the first page of a session would come over
        TCP, though its host is mapped to HTTP/3.
        """
        bidi = self._browser.bidi
        user = (await bidi.call("browser.createUserContext"))["userContext"]
        await PlayerTab(bidi, await self._open_tab(user)).show(self._target.url("h3", "/"))
        await bidi.call("browser.removeUserContext", userContext=user)

    async def _in_time(self, work: Coroutine[Any, Any, T], limit_s: float) -> T:
        async with asyncio.timeout(limit_s):
            return await work

    async def _run(self, job: BrowserJob, script: str) -> bool:
        bidi = self._browser.bidi
        await self._browser.notify("network:reset-http3-excluded-list")  # where QUIC once failed, it takes TCP
        await self._browser.ignore_links()
        await self._browser.prefer(ONE_PROTOCOL, applies=job.protocol != EITHER)
        await self._browser.prefer(asking(self._target, self._resolver.port), applies=job.resolver != NOTHING)
        self._resolver.has_record = job.resolver == HTTPS_RECORD
        user = (await bidi.call("browser.createUserContext"))["userContext"]
        try:
            if job.play is not None:
                return await self._play(job, job.play, script, user)
            return await (self._choose(job, user) if job.protocol == EITHER else self._obey(job, user))
        finally:
            bidi.listener = None
            await bidi.call("browser.removeUserContext", userContext=user)
            await self._browser.notify("net:cancel-all-connections")  # or their last packets reach the next server

    async def _obey(self, job: BrowserJob, user: str) -> bool:
        """Load the page over the protocol of the job."""
        report = self._reporter(job)
        tab = await self._open_tab(user)
        load = await self._load(tab, self._target.url(job.protocol, job.paths[0]), job.timeout_s)
        report(load)
        await self._read_paints(tab, load)
        return report_load(load, job)

    async def _play(self, job: BrowserJob, play: PlayJob, script: str, user: str) -> bool:
        """Play a video over the protocol of the job."""
        report = self._reporter(job)
        page = PlayerTab(self._browser.bidi, await self._open_tab(user))
        return await playing.run(page, self._target, job, play, script, self._decoder, report)

    def _reporter(self, job: BrowserJob) -> Callable[[Load], None]:
        """Return what prints the connections of a load that begins after this call."""
        lingering = set(self._locals(job))  # Firefox keeps the connections of a context that is gone for a while

        def report(load: Load) -> None:
            opened = [local for local in self._locals(job) if local not in lingering]
            report_connections(load, f"{job.address}:{job.port}", opened[0] if len(opened) == 1 else None)

        return report

    async def _choose(self, job: BrowserJob, user: str) -> bool:
        """Load the page over what Firefox takes, after the loads that it is to remember."""
        bidi, tabs = self._browser.bidi, []

        ends = Ends(self._browser, job.address, job.port)
        await ends.watch()

        async def load(url: str, limit_s: float) -> Load:
            tabs.append(await self._open_tab(user))
            found = await self._load(tabs[-1], url, limit_s)
            await ends.assign(found.recorder.exchanges.values())
            return found

        async def leave() -> None:
            await bidi.call("browsingContext.close", context=tabs[-1])
            await self._browser.notify("net:cancel-all-connections")
            await ends.until_closed()

        async def read_paints(load: Load) -> None:
            await self._read_paints(tabs[-1], load)

        context = choosing.Context(load, leave, read_paints)
        return await choosing.run(context, job, self._target.url(job.protocol, ""))

    async def _open_tab(self, user: str) -> str:
        made = await self._browser.bidi.call("browsingContext.create", type="tab", userContext=user)
        return str(made["context"])

    async def _load(self, tab: str, url: str, limit_s: float) -> Load:
        load = Load(url, Recorder(tab))
        self._browser.bidi.listener = load.recorder.on_event
        try:
            await self._in_time(self._navigate(tab, load), limit_s)
        except TimeoutError:
            load.error = "timed out: the job's time limit has passed"
        except CallError as error:
            load.error = str(error)
        if load.error is not None:
            load.recorder.give_up(load.error)
        return load

    async def _navigate(self, tab: str, load: Load) -> None:
        bidi = self._browser.bidi
        await bidi.call("browsingContext.navigate", context=tab, url=load.url, wait="complete")
        target = {"context": tab}
        answer = await bidi.call("script.evaluate", expression=LOADED, target=target, awaitPromise=False)
        origin_ms, first_ms, loaded_ms = json.loads(answer["result"]["value"])
        while load.recorder.in_flight:
            await asyncio.sleep(POLL_S)
        if loaded_ms == 0:  # a download is no document and has no load event: it is there with its last byte
            download = next(iter(load.recorder.exchanges.values()))
            load.t_start_ns, load.t_first_byte_ns = download.t_start_ns, download.t_first_byte_ns
            load.t_loaded_ns = download.t_end_ns
            return
        load.t_start_ns = _ns(origin_ms)
        load.t_first_byte_ns = _ns(origin_ms + first_ms)
        load.t_loaded_ns = _ns(origin_ms + loaded_ms)

    async def _read_paints(self, tab: str, load: Load) -> None:
        """Note when a tab showed the contents of a load that it made. Nothing is noted of one that failed."""
        if load.t_start_ns is None:
            return
        with contextlib.suppress(CallError, TimeoutError):  # the load itself is there
            async with asyncio.timeout(paint.LIMIT_S):
                answer = await self._browser.bidi.call(
                    "script.evaluate", expression=paint.PAINTS, target={"context": tab}, awaitPromise=True
                )
                paints = paint.Paints.read(answer["result"]["value"])
                load.t_first_contentful_paint_ns = _after(load.t_start_ns, paints.first_contentful_ms)
                load.t_largest_contentful_paint_ns = _after(load.t_start_ns, paints.largest_contentful_ms)

    def _locals(self, job: BrowserJob) -> list[str]:
        """Return local addresses of TCP connections; none of UDP, whose sockets Firefox does not connect."""
        return [] if job.protocol == "h3" else connections(job.protocol, job.address, job.port)


def _after(start_ns: int, milliseconds: float | None) -> int | None:
    return None if milliseconds is None else start_ns + _ns(milliseconds)


def _ns(milliseconds: float) -> int:
    return round(milliseconds * 1e3) * 1000
