"""Play a video with a player that real sites use, in a page of its own."""

import asyncio
import json
from collections.abc import Callable

from longlook_adapter.browserjob import BrowserJob, PlayJob
from longlook_adapter.lines import emit_error
from longlook_player.play import PAGE_PATH, manifest_path, playing
from longlook_player.report import Request, report_play

from firefox_driver.bidi import CallError
from firefox_driver.player_tab import PlayerTab
from firefox_driver.preferences import Target
from firefox_driver.recorder import Exchange
from firefox_driver.report import Load, object_line

GIVEN_UP = "NS_BINDING_ABORTED"
"""How Firefox reports a request that the page itself has ended."""

NO_DECODER = (
    "Firefox has no H.264 decoder here: it has none of its own, and loads none from the folder {folder!r} (--decoder), "
    "nor a libavcodec of the system"
)


async def run(
    page: PlayerTab,
    target: Target,
    job: BrowserJob,
    play: PlayJob,
    script: str,
    decoder: str,
    report_connections: Callable[[Load], None],
) -> bool:
    """Play, print the lines of the contract, and return whether all is well."""
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + job.timeout_s
    manifest = manifest_path(play)
    url = target.url(job.protocol, manifest)
    try:
        async with asyncio.timeout_at(deadline_s):
            await page.show(target.url(job.protocol, PAGE_PATH))
            await page.run(script)
    except (CallError, TimeoutError) as error:
        emit_error(f"the player's page did not come up: {error or 'timed out'}")
        return False
    expression = playing(play, url, NO_DECODER.format(folder=decoder))
    load, text = await page.play(url, expression, max(0.0, deadline_s - loop.time()))
    record = None if text is None else json.loads(text)
    if record is not None:
        await page.settle(load, {body["url"] for body in record["bodies"]})
    report_connections(load)
    if record is None:
        emit_error(f"{play.player}: {load.error}")
        return False
    requests = [_request(each) for each in load.recorder.exchanges.values()]
    return report_play(requests, record, play, manifest)


def _request(exchange: Exchange) -> Request:
    assert exchange.t_start_ns is not None  # Firefox reports each request with its time
    return Request(
        exchange.path,
        object_line(exchange, exchange.path),
        exchange.t_start_ns,
        exchange.t_first_byte_ns,
        exchange.t_end_ns or exchange.t_failed_ns,
        exchange.error,
        ended_by_page=exchange.error == GIVEN_UP,
    )
