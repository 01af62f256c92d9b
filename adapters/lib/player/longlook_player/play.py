"""What a driver gives the page of a player: the players' scripts, from the laboratory, and the call that plays."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from longlook_adapter.browserjob import PlayJob
from longlook_adapter.errors import UnsupportedError

PLAYERS: Mapping[str, tuple[str, ...]] = {"shaka": (), "dash.js": ("throughput", "bola")}
"""Player → the rules of its own that may choose rungs; each plays any fixed rung."""

PAGE = "<!doctype html><html><head><title>player</title></head><body></body></html>"
"""The page, which no server sends: it gives the player the server's origin, from which it may ask for the video."""

PAGE_PATH = "/video/player.html"
PAGE_TYPE = "text/html; charset=utf-8"

_CODE = Path(__file__).with_name("page.js")
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


def manifest_path(play: PlayJob) -> str:
    """Return the path of the manifest of DASH, which is beside the job's."""
    return play.manifest.removesuffix(".json") + ".mpd"


def playing(play: PlayJob, manifest_url: str, no_decoder: str) -> str:
    """Return an expression of JavaScript: a promise of the play's record, as JSON text (`page.js`).

    `no_decoder` is what the record says where the browser cannot decode H.264.
    """
    settings = {
        "player": play.player,
        "manifest": manifest_url,
        "rule": _RULES.get(play.quality),
        "watch_s": play.watch_s,
        "start_s": play.start_s,
        "buffer_s": play.buffer_s,
        "no_decoder": no_decoder,
    }
    return f"{_CODE.read_text()}({json.dumps(settings)}).then(JSON.stringify)"
