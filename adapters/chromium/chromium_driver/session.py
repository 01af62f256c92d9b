"""A session: warm browsers, one job after another."""

import asyncio
import time
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, NoReturn, Self, TypeVar

from longlook_adapter import sockets
from longlook_adapter.browserjob import HTTPS_RECORD, NOTHING, BrowserJob
from longlook_adapter.either import EITHER
from longlook_adapter.errors import DriverError, UnsupportedError
from longlook_adapter.job import PRIME
from longlook_adapter.lines import emit
from longlook_adapter.resolver import Resolver
from longlook_player.play import read_player

from chromium_driver import choosing, playing
from chromium_driver.browser import Browser
from chromium_driver.cdp import GoneError
from chromium_driver.context import Context
from chromium_driver.flags import Kind, Target
from chromium_driver.report import report_connections, report_load, report_unrequested

T = TypeVar("T")

HOUSEKEEPING_LIMIT_S = 30.0
"""The time for a job's contexts, tabs and closing connections, beside its own time limit."""

DEATH_LIMIT_S = 2.0
"""The longest from the end of the DevTools connection to the end of the process."""


class Session:
    """Use as an async context manager: at its end no browser runs and no folder is left."""

    def __init__(self, program: str, target: Target, resolver: Resolver, players: str = "") -> None:
        self._program = program
        self._target = target
        self._resolver = resolver
        self._players = players
        self._browsers: dict[Kind, Browser] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for browser in self._browsers.values():
            await browser.close()

    async def start(self) -> str:
        """Start the browser that most jobs use; return its version."""
        return (await self._browser(Kind.USUAL)).version

    async def run(self, job: BrowserJob) -> None:
        """Do one job and print its lines up to `done`; UnsupportedError leaves the session as it was."""
        self._check_reachable(job)
        script = read_player(self._players, job.play.player) if job.play else ""
        browser = await self._browser(_kind_for(job))
        self._resolver.has_record = job.resolver == HTTPS_RECORD
        ok = await self.while_alive(self._run(browser, job, script), job.timeout_s + HOUSEKEEPING_LIMIT_S)
        emit("done", ok=ok)

    async def while_alive(self, work: Coroutine[Any, Any, T], limit_s: float | None = None) -> T:
        """Return the result of `work`; DriverError if a browser dies meanwhile or `limit_s` passes."""
        task = asyncio.create_task(work)
        deaths = [browser.died for browser in self._browsers.values()]
        try:
            either: list[asyncio.Future[Any]] = [task, *deaths]
            await asyncio.wait(either, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
            if task.done() and not isinstance(task.exception(), GoneError):
                return task.result()
            if not task.done() and not any(death.done() for death in deaths):
                raise DriverError(f"the browser hangs: a job is not done {limit_s:g} s after it was given")
            return await self._explain_death(deaths)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _explain_death(self, deaths: list[asyncio.Future[str]]) -> NoReturn:
        done, _ = await asyncio.wait(deaths, timeout=DEATH_LIMIT_S, return_when=asyncio.FIRST_COMPLETED)
        raise DriverError(done.pop().result() if done else "the browser closed its DevTools connection")

    def _check_reachable(self, job: BrowserJob) -> None:
        if (job.address, job.port) != (self._target.address, self._target.port):
            raise UnsupportedError(
                f"server {job.address}:{job.port}: this session was started for {self._target.address}:"
                f"{self._target.port}, as the browser has to know at its start where QUIC is forced"
            )

    async def _browser(self, kind: Kind) -> Browser:
        """Return the warm browser of a kind."""
        if kind not in self._browsers:
            self._browsers[kind] = await Browser.launch(self._program, self._target, kind, self._resolver.port)
        return self._browsers[kind]

    async def _run(self, browser: Browser, job: BrowserJob, script: str) -> bool:
        url = self._target.url(job.protocol, job.paths[0])
        async with Context(browser.cdp, self._target) as context:
            deadline_s = time.monotonic() + job.timeout_s
            if job.protocol == EITHER:
                return await choosing.run(context, self._target, job, deadline_s)
            if job.play is not None:
                return await playing.run(
                    context, self._target, job, job.play, script, deadline_s, lambda _protocol: self._locals(job)
                )
            if job.primes and (error := await self._prime(context, job, deadline_s)):
                report_unrequested(job, self._target.url(job.protocol, ""), f"priming failed: {error}")
                return False
            tab = await context.open_tab()
            load = await tab.navigate(url, deadline_s, lambda _protocol: self._locals(job))
            if load.is_download:
                raise UnsupportedError(f"{job.paths[0]} is not a page: the browser would save it to a file")
            await tab.read_paints(load)
            report_connections(load, primes=False, has_tickets=job.primes)
            return report_load(load, url, job)

    async def _prime(self, context: Context, job: BrowserJob, deadline_s: float) -> str | None:
        """Obtain a session ticket on a connection of its own and close that; return what went wrong, or None."""
        closer = await context.open_closer()
        tab = await context.open_tab()
        load = await tab.navigate(
            self._target.url(job.protocol, PRIME), deadline_s, lambda _protocol: self._locals(job)
        )
        report_connections(load, primes=True, has_tickets=False)
        answer = load.recorder.exchanges[0] if load.recorder.exchanges else None
        if answer is None or answer.status != 200:
            return load.error or (answer.error if answer else None) or "no answer"
        await tab.close()
        await closer.close_connections()
        return None

    def _locals(self, job: BrowserJob) -> list[str]:
        return sockets.connections(job.protocol, job.address, job.port)


def _kind_for(job: BrowserJob) -> Kind:
    if job.resolver != NOTHING:
        return Kind.ASKING
    return Kind.NO_EARLY_DATA if job.connection == "resumed" else Kind.USUAL
