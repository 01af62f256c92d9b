"""A session with a browser that is not ours: it was started elsewhere, stays when we leave, and may go at any time."""

import asyncio
import time
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, NoReturn, Self
from urllib.parse import urlsplit

from longlook_adapter.browserjob import BrowserJob
from longlook_adapter.errors import UnsupportedError
from longlook_adapter.job import PRIME
from longlook_adapter.lines import emit
from websockets.exceptions import InvalidHandshake

from chromium_driver.cdp import CallError, Cdp, GoneError
from chromium_driver.context import NET_INTERNALS, Closer
from chromium_driver.flags import HTTPS_PORT, Target
from chromium_driver.remote import clock, endpoint, pages
from chromium_driver.remote.errors import ElsewhereError, SilentError
from chromium_driver.remote.flags import Started
from chromium_driver.remote.names import Names, mark
from chromium_driver.report import report_connections, report_load, report_unrequested
from chromium_driver.tab import Load, Tab

_START_LIMIT_S = 20.0
_HOUSEKEEPING_LIMIT_S = 30.0
"""The time for a job's tabs, clocks and closing connections, beside its own time limit."""

_CLEANING_LIMIT_S = 10.0
_PATIENT_S, _IMPATIENT_S = 2.0, 0.5
"""How long it may not answer before a load, and after one that failed: the job's time is over soon or already, and a
laboratory gives little beyond that."""

_GOODBYE_S = 0.1

_CLOSING_S = 0.1
"""How long the browser may take to close its connections. The kernel that could prove it is on the other machine; a
connection that lives on is found out, as reused here or as one too many by the server."""


class Session:
    """Use as an async context manager: at its end the browser has none of our tabs, and runs on."""

    def __init__(
        self, cdp: Cdp, found: endpoint.Found, where: str, target: Target, names: Names, *, early_data: bool
    ) -> None:
        self._cdp, self._found, self._where, self._target, self._names = cdp, found, where, target, names
        self._early_data = early_data

    @classmethod
    async def connect(cls, where: str, expected: dict[str, Any], target: Target) -> "Session":
        """Connect to the browser at HOST:PORT; ElsewhereError where it is another than expected, or started wrongly."""
        found = endpoint.find(where)
        if found.identity() != expected:
            differs = ", ".join(
                f"{key} was {expected.get(key)!r} and is {value!r}"
                for key, value in found.identity().items()
                if value != expected.get(key)
            )
            raise ElsewhereError(f"the browser at {where} is not the one that this run began with: {differs}")
        try:
            async with asyncio.timeout(_START_LIMIT_S):
                cdp = await Cdp.connect(found.socket, close_limit_s=_GOODBYE_S)
                try:
                    started = Started.read(await pages.command_line(cdp), target)
                    await pages.check_settings(cdp)
                    await _close_what_is_left(cdp, target)
                    names = await Names.of(cdp, target.domain, started.quic_hosts)
                except BaseException:
                    await cdp.close()
                    raise
        except (TimeoutError, OSError, InvalidHandshake, CallError, GoneError) as error:
            raise ElsewhereError(f"the browser at {where} cannot be driven: {str(error) or 'no answer'}") from error
        return cls(cdp, found, where, target, names, early_data=started.early_data)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._cdp.close()

    @property
    def version(self) -> str:
        """Return the browser's version."""
        return self._found.version

    async def while_there(self, work: Coroutine[Any, Any, Any], limit_s: float | None = None) -> Any:
        """Return the result of `work`; ElsewhereError if the browser goes away meanwhile or `limit_s` passes."""
        task = asyncio.create_task(work)
        try:
            waiting: list[asyncio.Future[Any]] = [task, self._cdp.closed]
            await asyncio.wait(waiting, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
            if task.done() and not isinstance(task.exception(), GoneError):
                return task.result()
            if task.done() or self._cdp.closed.done():
                self._gone()
            raise ElsewhereError(f"the browser at {self._where} hangs: its job is not done after {limit_s:g} s")
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def run(self, job: BrowserJob) -> None:
        """Do one job and print its lines up to `done`; UnsupportedError leaves the session as it was."""
        self._check(job)
        ok = await self.while_there(self._run(job), job.timeout_s + _HOUSEKEEPING_LIMIT_S)
        emit("done", ok=ok)

    def _gone(self) -> NoReturn:
        raise ElsewhereError(
            f"the browser at {self._where} has gone away: its machine, its program or the forwarding of its port ended"
        )

    def _check(self, job: BrowserJob) -> None:
        if (job.address, job.port) != (self._target.address, self._target.port):
            raise UnsupportedError(f"server {job.address}:{job.port}: the browser was started for another")
        if job.protocol == "h3" and job.connection == ("resumed" if self._early_data else "0rtt"):
            how = "with" if self._early_data else "without"
            raise UnsupportedError(
                f"connection {job.connection!r}: the browser was started {how} early data over QUIC, and a flag at its "
                "start alone decides: see `longlook phone --help`"
            )

    async def _run(self, job: BrowserJob) -> bool:
        deadline_s = time.monotonic() + job.timeout_s
        await self._check_alive(_PATIENT_S)
        host = self._names.take(job.protocol)
        port = "" if self._target.port == HTTPS_PORT else f":{self._target.port}"
        origin = f"https://{host}{port}"
        closer = Closer(await Tab.open(self._cdp, None, NET_INTERNALS), _let_close)
        tab = await self._open_tab()
        try:
            ok = await self._measure(tab, origin, job, deadline_s)
        except SilentError:
            raise  # nothing that it is asked to close would be closed
        except BaseException:
            await self._clean_up(tab, closer)
            raise
        await self._clean_up(tab, closer)
        return ok

    async def _measure(self, tab: Tab, origin: str, job: BrowserJob, deadline_s: float) -> bool:
        if job.protocol == "h3":
            await mark(tab, origin)
        if job.primes and (error := await self._prime(origin, deadline_s)):
            report_unrequested(job, origin, f"priming failed: {error}")
            return False
        before = await clock.read(tab)
        load = await tab.navigate(f"{origin}{job.paths[0]}", deadline_s, _no_ends)
        if load.error is not None:
            await self._check_alive(_IMPATIENT_S)
        await tab.read_paints(load)
        reading = clock.agree(before, await clock.read(tab))
        return self._report(load, f"{origin}{job.paths[0]}", job, reading)

    async def _check_alive(self, limit_s: float) -> None:
        try:
            async with asyncio.timeout(limit_s):
                await self._cdp.call("Browser.getVersion")
        except TimeoutError as error:
            raise SilentError(
                f"the browser at {self._where} does not answer for {limit_s:g} s: has it gone?"
            ) from error

    async def _clean_up(self, tab: Tab, closer: Closer) -> None:
        try:
            async with asyncio.timeout(_CLEANING_LIMIT_S):
                await tab.close()
                await closer.close_connections()
        except TimeoutError as error:
            raise ElsewhereError(
                f"the browser at {self._where} does not close its tabs within {_CLEANING_LIMIT_S:g} s: has it gone?"
            ) from error

    async def _prime(self, origin: str, deadline_s: float) -> str | None:
        """Obtain a session ticket on a connection of its own and close that; return what went wrong, or None."""
        closer = Closer(await Tab.open(self._cdp, None, NET_INTERNALS), _let_close)
        tab = await self._open_tab()
        load = await tab.navigate(f"{origin}{PRIME}", deadline_s, _no_ends)
        if load.error is not None:
            await self._check_alive(_IMPATIENT_S)
        await tab.close()
        await closer.close_connections()
        answer = load.recorder.exchanges[0] if load.recorder.exchanges else None
        if answer is None or answer.status != 200:
            return load.error or (answer.error if answer else None) or "no answer"
        return None

    async def _open_tab(self) -> Tab:
        tab = await Tab.open(self._cdp, None)
        await tab.prepare()
        await tab.call("Page.bringToFront")  # a phone lets pages in the background sleep
        return tab

    def _report(self, load: Load, url: str, job: BrowserJob, reading: clock.Reading) -> bool:
        if load.is_download:
            raise UnsupportedError(f"{job.paths[0]} is not a page: the browser would save it to a file")
        clock.move(load, reading.ahead_s)
        emit("clock", uncertainty_ns=round(reading.uncertainty_s * 1e9), browser=self._found.browser)
        if reused := _opened_before(load):
            load.error = load.error or reused
        # With a line of the client's own its ports would have to tell priming from measuring, and nobody here sees
        # them; without, the first connection that the server reports is the priming one.
        if not job.primes:
            report_connections(load, primes=False, has_tickets=False)
        return report_load(load, url, job)


def _opened_before(load: Load) -> str | None:
    """Return in words that the connection was not opened by the load's own request; None where it was."""
    first = next(iter(load.recorder.connections.values()), None)
    if first is None or first.t_start_s is not None:
        return None
    return "the browser had a connection before the page asked for one: turn its preloading of pages off"


def _no_ends(_protocol: str) -> list[str]:
    return []


async def _let_close() -> None:
    await asyncio.sleep(_CLOSING_S)


async def _close_what_is_left(cdp: Cdp, target: Target) -> None:
    """Close tabs with the server's pages, of a session that could not: they may keep connections."""
    for each in (await cdp.call("Target.getTargets"))["targetInfos"]:
        host = urlsplit(each["url"]).hostname or ""
        if each["type"] == "page" and host.endswith(f".{target.domain}"):
            await cdp.call("Target.closeTarget", targetId=each["targetId"])
