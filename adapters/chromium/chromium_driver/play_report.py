"""Print a play as lines of the contract."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from longlook_adapter.browserjob import PlayJob
from longlook_adapter.clock import unix_ns
from longlook_adapter.lines import emit, emit_error

from chromium_driver.dash import Manifest, ManifestError, parse_manifest
from chromium_driver.recorder import Exchange
from chromium_driver.report import report_exchange
from chromium_driver.tab import Load

GIVEN_UP = "net::ERR_ABORTED"
"""How Chromium reports a request that the page itself has ended."""


@dataclass(frozen=True)
class Clock:
    """Puts the page's times on the browser's clock: `zero_s` is when the page's clock was 0."""

    zero_s: float

    @classmethod
    def of(cls, manifest: Exchange, response_start_ms: float) -> "Clock | None":
        """Return the clock by the moment that both clocks saw: the first byte of the manifest."""
        if manifest.t_first_byte_s is None:
            return None
        return cls(manifest.t_first_byte_s - response_start_ms / 1e3)

    def seconds(self, t_ms: float) -> float:
        """Return a time of the page in seconds of the browser's clock."""
        return self.zero_s + t_ms / 1e3


def report_play(load: Load, record: Mapping[str, Any], play: PlayJob, path: str) -> bool:
    """Print the lines of a play whose manifest is at `path`; return whether all is well."""
    asked = next((each for each in load.recorder.exchanges if each.path == path), None)
    clock = None if asked is None or record["manifest_ms"] is None else Clock.of(asked, record["manifest_ms"])
    last_s = None if clock is None else clock.seconds(record["states"][-1]["t_ms"])
    for exchange in load.recorder.exchanges:
        if not _given_up(exchange, last_s):
            report_exchange(exchange)
    error = record["error"]
    if clock is None or last_s is None or record["manifest"] is None:
        emit_error(error or f"{play.player} was given no {path}")
        return False
    try:
        manifest = parse_manifest(record["manifest"], path)
    except ManifestError as wrong:
        emit_error(error or str(wrong))
        return False
    rungs = [{"name": name, "bitrate_bps": bitrate} for name, bitrate in manifest.rungs_bps.items()]
    emit("video", quality=play.quality, length_s=manifest.length_s, segment_s=manifest.segment_s, rungs=rungs)
    error = _report_segments(load, record, play, manifest, last_s) or error
    for state in record["states"]:
        emit(
            "play",
            state=state["state"],
            t_ns=unix_ns(clock.seconds(state["t_ms"])),
            position_s=state["position_s"],
            buffer_s=max(0.0, _loaded_s(record, manifest, state["t_ms"]) - state["position_s"]),
        )
    if error is not None:
        emit_error(error)
    return error is None


def _report_segments(
    load: Load, record: Mapping[str, Any], play: PlayJob, manifest: Manifest, last_s: float
) -> str | None:
    """Print a line for each segment that was asked for before the end; return what is wrong with one, or None."""
    bodies = {urlsplit(body["url"]).path: body for body in record["bodies"]}
    seen: set[int] = set()
    for exchange in load.recorder.exchanges:
        if exchange.path not in manifest.segments or exchange.t_start_s > last_s:
            continue
        rung, number = manifest.segments[exchange.path]
        if number in seen:
            return f"{play.player} asked for segment {number} twice"
        if play.quality in manifest.rungs_bps and rung != play.quality:
            return f"{play.player} asked for segment {number} of {rung}, not of {play.quality}"
        seen.add(number)
        body = bodies.get(exchange.path)
        failed = None if _given_up(exchange, last_s) else exchange.error
        whole = body is not None and exchange.t_end_s is not None and exchange.t_end_s <= last_s
        emit(
            "segment",
            index=number,
            rung=rung,
            path=exchange.path,
            t_start_ns=unix_ns(exchange.t_start_s),
            t_end_ns=unix_ns(exchange.t_end_s) if whole else None,
            bytes=body["bytes"] if body else None,
            digest=body.get("digest") if body else None,
            buffer_s=max(0.0, (number + 1) * manifest.segment_s - body["position_s"]) if body else None,
            error=failed,
        )
        if failed is not None:
            return f"{exchange.path}: {failed}"
    return None


def _loaded_s(record: Mapping[str, Any], manifest: Manifest, t_ms: float) -> float:
    """Return how many seconds from the video's beginning had arrived at a time of the page."""
    numbers = [
        manifest.segments[path][1] + 1
        for body in record["bodies"]
        if body["t_ms"] <= t_ms and (path := urlsplit(body["url"]).path) in manifest.segments
    ]
    return max(numbers, default=0) * manifest.segment_s


def _given_up(exchange: Exchange, last_s: float | None) -> bool:
    """Return whether a request was under way when the viewer left."""
    if last_s is None:
        return False
    if not exchange.settled:
        return True
    late = exchange.t_end_s is not None and exchange.t_end_s >= last_s - _GRACE_S
    return exchange.error == GIVEN_UP and late


_GRACE_S = 0.001
"""The page's clock is rounded: a request that ended so little before the end was ended by it."""
