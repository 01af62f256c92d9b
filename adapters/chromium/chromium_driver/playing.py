"""Play a video with a player that real sites use, in a page of its own."""

import json
import time
from collections.abc import Callable

from longlook_adapter.browserjob import BrowserJob, PlayJob
from longlook_adapter.clock import unix_ns
from longlook_adapter.lines import emit_error
from longlook_player.play import PAGE_PATH, manifest_path, playing
from longlook_player.report import Request, report_play

from chromium_driver.cdp import CallError
from chromium_driver.context import Context
from chromium_driver.flags import Target
from chromium_driver.player_tab import PlayerTab
from chromium_driver.recorder import Exchange
from chromium_driver.report import object_line, report_connections

GIVEN_UP = "net::ERR_ABORTED"
"""How Chromium reports a request that the page itself has ended."""

NO_DECODER = "this Chromium cannot decode H.264: install one that can, as Debian's"


async def run(
    context: Context,
    target: Target,
    job: BrowserJob,
    play: PlayJob,
    script: str,
    deadline_s: float,
    ends: Callable[[str], list[str]],
) -> bool:
    """Play, print the lines of the contract, and return whether all is well."""
    tab = await PlayerTab.open_in(context)
    manifest = manifest_path(play)
    try:
        await tab.show(target.url(job.protocol, PAGE_PATH))
        await tab.run(script)
    except CallError as error:
        emit_error(f"the player's page did not come up: {error}")
        return False
    expression = playing(play, target.url(job.protocol, manifest), NO_DECODER)
    load, record = await tab.play(expression, max(0.0, deadline_s - time.monotonic()), ends)
    report_connections(load, primes=False, has_tickets=False)
    if record is None:
        emit_error(f"{play.player}: {load.error}")
        return False
    return report_play([_request(each) for each in load.recorder.exchanges], json.loads(record), play, manifest)


def _request(exchange: Exchange) -> Request:
    start_ns = unix_ns(exchange.t_start_s)
    assert start_ns is not None  # Chromium reports each request with its time
    return Request(
        exchange.path,
        object_line(exchange),
        start_ns,
        unix_ns(exchange.t_first_byte_s),
        unix_ns(exchange.t_end_s),
        exchange.error,
        ended_by_page=exchange.error == GIVEN_UP,
    )
