"""One job of a browser, from standard input, checked."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from longlook_adapter.either import EITHER
from longlook_adapter.errors import BadUsageError, UnsupportedError

PROTOCOLS = ("h3", "h2")

MEMORY = "memory"
NOTHING, ALT_SVC, PAGE = "none", "alt-svc", "page"
MEMORIES = (NOTHING, ALT_SVC, PAGE)
"""What a browser that chooses remembers as the load begins: values of the knob `memory`."""

RESOLVER = "resolver"
ADDRESSES, HTTPS_RECORD = "addresses", "https-record"
RESOLVERS = (NOTHING, ADDRESSES, HTTPS_RECORD)
"""What a browser that chooses learns from a resolver: values of the knob `resolver`."""

RULES = ("throughput", "bola", "buffer")
"""What may choose the rungs of a video (CONTRACT.md, Video)."""

PLAYER = "player"
"""The knob that names the player of a video."""

_KNOBS = {MEMORY: MEMORIES, RESOLVER: RESOLVERS}


_NO_PLAYERS: Mapping[str, tuple[str, ...]] = {}


@dataclass(frozen=True)
class PlayJob:
    """A video to play, by its own manifest or by one beside it; lengths in seconds (CONTRACT.md, Video)."""

    player: str
    manifest: str
    quality: str
    watch_s: float
    start_s: float
    resume_s: float
    buffer_s: float


@dataclass(frozen=True)
class BrowserJob:
    """A page to load, the first of `paths`, and the objects that it must bring in, the rest."""

    protocol: str
    connection: str
    address: str
    port: int
    paths: tuple[str, ...]
    timeout_s: float
    memory: str = NOTHING
    resolver: str = NOTHING
    play: PlayJob | None = None  # None: load the page

    @property
    def primes(self) -> bool:
        """Return whether an earlier connection must obtain a session ticket first."""
        return self.connection != "cold"


def parse_job(
    line: str,
    browser: str,
    connections: tuple[str, ...],
    protocols: tuple[str, ...] = PROTOCOLS,
    players: Mapping[str, tuple[str, ...]] = _NO_PLAYERS,
) -> BrowserJob:
    """Return the job in a line of JSON; BadUsageError names the key that is wrong, UnsupportedError what it cannot do.

    `connections` are the states that the browser supports, `protocols` what it can be asked to speak,
    and `players` the players that it has, each with the rules by which that may choose rungs.
    """
    try:
        data = json.loads(line)
    except ValueError as error:
        raise BadUsageError(f"not a line of JSON: {error}") from error
    if not isinstance(data, dict):
        raise BadUsageError("a job is a JSON object")
    phases = _expect(data, "phases", list)
    if not phases or not all(isinstance(phase, list) for phase in phases):
        raise BadUsageError("job: `phases` is a list of lists of paths")
    paths = tuple(path for phase in phases for path in phase)
    if not paths or not all(isinstance(path, str) and path.startswith("/") for path in paths):
        raise BadUsageError("job: every path of `phases` is a text that begins with /")
    knobs = dict(data.get("knobs") or {})
    play = _play(data, knobs, browser, players)
    job = BrowserJob(
        protocol=_expect(data, "protocol", str),
        connection=_expect(data, "connection", str),
        address=_expect(data, "address", str),
        port=_expect(data, "port", int),
        paths=paths,
        timeout_s=float(_expect(data, "timeout_s", int | float)),
        memory=knobs.get(MEMORY, NOTHING),
        resolver=knobs.get(RESOLVER, NOTHING),
        play=play,
    )
    if data.get("connections", 1) != 1:
        raise UnsupportedError(f"connections {data['connections']!r}: a browser decides itself; give 1")
    _check_supported(job, browser, connections, protocols)
    if play is not None and (job.protocol == EITHER or job.connection != "cold"):
        raise UnsupportedError(f"a video over {job.protocol}, {job.connection}: a player plays over h3 or h2, cold")
    _check_knobs(job, knobs)
    return job


def _expect(data: dict[str, Any], key: str, kind: Any) -> Any:
    value = data.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadUsageError(f"job: `{key}` is {value!r}, not {getattr(kind, '__name__', kind)}")
    return value


def _check_supported(job: BrowserJob, browser: str, connections: tuple[str, ...], protocols: tuple[str, ...]) -> None:
    if job.protocol not in protocols:
        raise UnsupportedError(f"protocol {job.protocol!r}: {browser} speaks {', '.join(protocols)} here")
    if job.connection not in connections:
        raise UnsupportedError(f"connection {job.connection!r}: known are {', '.join(connections)}")
    if job.connection == "0rtt" and job.protocol != "h3":
        raise UnsupportedError("connection '0rtt' needs protocol h3: early data over TCP is not measured")
    if job.connection != "cold" and job.protocol == EITHER:
        raise UnsupportedError(f"connection {job.connection!r} with {EITHER}: each of its connections is cold")


def _check_knobs(job: BrowserJob, knobs: dict[str, Any]) -> None:
    for name in sorted(knobs):
        if name not in _KNOBS:
            raise UnsupportedError(f"knob {name!r}: this client has none but {' and '.join(map(repr, _KNOBS))}")
        if job.protocol != EITHER:
            raise UnsupportedError(f"knob {name!r} has no meaning with {job.protocol}")
        if knobs[name] not in _KNOBS[name]:
            raise BadUsageError(f"knob {name}={knobs[name]!r}: allowed are {', '.join(_KNOBS[name])}")


def _play(
    data: dict[str, Any], knobs: dict[str, Any], browser: str, players: Mapping[str, tuple[str, ...]]
) -> PlayJob | None:
    """Return the video of a job, and take the knob that names its player from `knobs`."""
    video, player = data.get("video"), knobs.pop(PLAYER, None)
    if video is None and player is None:
        return None
    if not players:
        raise UnsupportedError(f"{browser} plays no video here; Chromium does")
    if not isinstance(video, dict):
        raise UnsupportedError(f"knob {PLAYER!r} has no meaning without a video")
    if player not in players:
        raise UnsupportedError(f"knob {PLAYER}={player!r}: {browser} plays a video with {' or '.join(players)}")
    play = PlayJob(
        player=player,
        manifest=_expect(video, "manifest", str),
        quality=_expect(video, "quality", str),
        **{name: float(_expect(video, name, int | float)) for name in ("watch_s", "start_s", "resume_s", "buffer_s")},
    )
    if video.get("live_s", 0) != 0:
        raise UnsupportedError("a live video: this client plays none")
    if play.quality in RULES and play.quality not in players[player]:
        known = ", ".join(players[player]) or "none"
        raise UnsupportedError(f"quality {play.quality!r}: rules of {player}: {known}; or a rung of the ladder")
    if player == "shaka" and play.resume_s != play.start_s:
        raise UnsupportedError("start and resume of shaka are one setting (rebufferingGoal): give both the same length")
    if player == "dash.js" and play.resume_s != 0:
        raise UnsupportedError("dash.js has no buffer with which it resumes: resume is 0 alone")
    return play
