"""Play a video with a player that real sites use, in a page of its own."""

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path

from longlook_adapter.browserjob import BrowserJob, PlayJob
from longlook_adapter.errors import UnsupportedError
from longlook_adapter.lines import emit_error

from chromium_driver.cdp import CallError
from chromium_driver.context import Context
from chromium_driver.flags import Target
from chromium_driver.play_report import report_play
from chromium_driver.player_tab import PlayerTab
from chromium_driver.report import report_connections

_PAGE = Path(__file__).with_name("player_page.js")
_PAGE_PATH = "/video/player.html"
_RULES = {"throughput": "throughputRule", "bola": "bolaRule"}
"""Name of a rule in a job → its name in dash.js."""


def read_player(folder: str, name: str) -> str:
    """Return a player's script from the folder of players; UnsupportedError where it is not there, or another."""
    script, digest = Path(folder) / f"{name}.js", Path(folder) / f"{name}.sha256"
    try:
        text = script.read_bytes()
        if hashlib.sha256(text).hexdigest() != digest.read_text().strip():
            raise UnsupportedError(f"player {name}: {script} is damaged; remove that folder, and run the study again")
    except OSError as error:
        raise UnsupportedError(f"player {name}: {script} cannot be read ({error.strerror})") from error
    return text.decode()


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
    manifest = play.manifest.removesuffix(".json") + ".mpd"
    settings = {
        "player": play.player,
        "manifest": target.url(job.protocol, manifest),
        "rule": _RULES.get(play.quality),
        "watch_s": play.watch_s,
        "start_s": play.start_s,
        "buffer_s": play.buffer_s,
    }
    try:
        await tab.show(target.url(job.protocol, _PAGE_PATH))
        await tab.run(script)
    except CallError as error:
        emit_error(f"the player's page did not come up: {error}")
        return False
    expression = f"{_PAGE.read_text()}({json.dumps(settings)})"
    load, record = await tab.play(expression, max(0.0, deadline_s - time.monotonic()), ends)
    report_connections(load, primes=False, has_tickets=False)
    if record is None:
        emit_error(f"{play.player}: {load.error}")
        return False
    return report_play(load, record, play, manifest)
