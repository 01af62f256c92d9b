"""Print a play as lines of the contract, from what the page recorded and what the browser saw of its requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from longlook_adapter.browserjob import PlayJob
from longlook_adapter.lines import emit, emit_error

from longlook_player.dash import Manifest, ManifestError, parse_manifest

_GRACE_NS = 1_000_000
"""Clocks of pages and events are rounded: a request that ended so little before the end was ended by it."""


@dataclass(frozen=True)
class Request:
    """A request of the page as the browser reports it. Times in nanoseconds since 1970; None: not seen."""

    path: str
    line: Mapping[str, Any]  # the keys of its `object` line
    t_start_ns: int
    t_first_byte_ns: int | None
    t_end_ns: int | None  # ended or failed; None: still under way
    error: str | None
    ended_by_page: bool  # its error is the one of requests that the page itself gives up

    def given_up(self, last_ns: int | None) -> bool:
        """Return whether it was under way when the viewer left, at `last_ns` (None: nobody knows when)."""
        if last_ns is None:
            return False
        if self.t_end_ns is None and self.error is None:
            return True
        late = self.t_end_ns is not None and self.t_end_ns >= last_ns - _GRACE_NS
        return self.ended_by_page and late


@dataclass(frozen=True)
class Clock:
    """Puts the page's times on the browser's clock: `zero_ns` is when the page's clock was 0."""

    zero_ns: int

    @classmethod
    def of(cls, manifest: Request, response_start_ms: float) -> "Clock | None":
        """Return the clock by the moment that both clocks saw: the first byte of the manifest."""
        if manifest.t_first_byte_ns is None:
            return None
        return cls(manifest.t_first_byte_ns - round(response_start_ms * 1e6))

    def ns(self, t_ms: float) -> int:
        """Return a time of the page in nanoseconds since 1970."""
        return self.zero_ns + round(t_ms * 1e6)


def report_play(requests: Sequence[Request], record: Mapping[str, Any], play: PlayJob, path: str) -> bool:
    """Print the lines of a play whose manifest is at `path`; return whether all is well."""
    asked = next((each for each in requests if each.path == path), None)
    clock = None if asked is None or record["manifest_ms"] is None else Clock.of(asked, record["manifest_ms"])
    last_ns = None if clock is None else clock.ns(record["states"][-1]["t_ms"])
    for request in requests:
        if not request.given_up(last_ns):
            emit("object", **request.line)
    error = record["error"]
    if clock is None or last_ns is None or record["manifest"] is None:
        emit_error(error or f"{play.player} was given no {path}")
        return False
    try:
        manifest = parse_manifest(record["manifest"], path)
    except ManifestError as wrong:
        emit_error(error or str(wrong))
        return False
    rungs = [{"name": name, "bitrate_bps": bitrate} for name, bitrate in manifest.rungs_bps.items()]
    emit("video", quality=play.quality, length_s=manifest.length_s, segment_s=manifest.segment_s, rungs=rungs)
    error = _report_segments(requests, record, play, manifest, last_ns) or error
    for state in record["states"]:
        emit(
            "play",
            state=state["state"],
            t_ns=clock.ns(state["t_ms"]),
            position_s=state["position_s"],
            buffer_s=max(0.0, _loaded_s(record, manifest, state["t_ms"]) - state["position_s"]),
        )
    if error is not None:
        emit_error(error)
    return error is None


def _report_segments(
    requests: Sequence[Request], record: Mapping[str, Any], play: PlayJob, manifest: Manifest, last_ns: int
) -> str | None:
    """Print a line for each segment that was asked for before the end; return what is wrong with one, or None."""
    bodies = {urlsplit(body["url"]).path: body for body in record["bodies"]}
    seen: set[int] = set()
    for request in requests:
        if request.path not in manifest.segments or request.t_start_ns > last_ns:
            continue
        rung, number = manifest.segments[request.path]
        if number in seen:
            return f"{play.player} asked for segment {number} twice"
        if play.quality in manifest.rungs_bps and rung != play.quality:
            return f"{play.player} asked for segment {number} of {rung}, not of {play.quality}"
        seen.add(number)
        body = bodies.get(request.path)
        failed = None if request.given_up(last_ns) else request.error
        whole = body is not None and request.t_end_ns is not None and request.t_end_ns <= last_ns
        emit(
            "segment",
            index=number,
            rung=rung,
            path=request.path,
            t_start_ns=request.t_start_ns,
            t_end_ns=request.t_end_ns if whole else None,
            bytes=body["bytes"] if body else None,
            digest=body.get("digest") if body else None,
            buffer_s=max(0.0, (number + 1) * manifest.segment_s - body["position_s"]) if body else None,
            error=failed,
        )
        if failed is not None:
            return f"{request.path}: {failed}"
    return None


def _loaded_s(record: Mapping[str, Any], manifest: Manifest, t_ms: float) -> float:
    """Return how many seconds from the video's beginning had arrived at a time of the page."""
    numbers = [
        manifest.segments[path][1] + 1
        for body in record["bodies"]
        if body["t_ms"] <= t_ms and (path := urlsplit(body["url"]).path) in manifest.segments
    ]
    return max(numbers, default=0) * manifest.segment_s
