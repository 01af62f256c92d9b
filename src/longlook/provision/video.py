"""Makes the segments of a video and its manifest: bytes of declared sizes, written once. Standard library only.

A player needs no picture: the sizes of segments decide what it does. Every segment holds noise of its own, so that one
that arrives in place of another is noticed. A video repeats its segments until its length is reached.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from longlook.core import Content, Scalar
from longlook.provision.content import Writer, make_content, noise

MANIFEST_PATH = "/video/manifest.json"

LADDER_BPS: Mapping[str, int] = {
    "tiny": 200_000,
    "medium": 600_000,
    "hd720": 1_800_000,
    "hd1080": 4_500_000,
    "hd2160": 18_000_000,
}
"""The bitrate of each rung, picture and sound together (docs/reference/video.md has their origin)."""

DISTINCT_SEGMENTS = {"constant": 4, "variable": 15}
"""How many segments of a rung have bytes of their own before they repeat; of a rung in chunks, each has all of its."""

_SCENE_SEGMENTS = 3
_PERMILLE = 1000


@dataclass(frozen=True)
class Video:
    """A video: its rungs in ascending order of their bitrates in bit/s, the length of a segment and the whole in ns.

    A segment comes in `chunks` files of one length, all of one rung.
    """

    rungs: Mapping[str, int]
    segment_ns: int
    length_ns: int
    bitrate: str  # a key of DISTINCT_SEGMENTS
    chunks: int = 1

    @property
    def chunk_ns(self) -> int:
        """The length of what a file holds, in ns."""
        return self.segment_ns // self.chunks

    def sizes(self, rung: str) -> list[int]:
        """Return the bytes of the distinct files of a rung, segment by segment and in each chunk by chunk."""
        mean_bytes = self.rungs[rung] * self.chunk_ns / 8e9
        count = DISTINCT_SEGMENTS[self.bitrate]
        if self.bitrate == "constant":
            return [round(mean_bytes)] * count * self.chunks
        shares = [_complexity(number) for number in range(count)]
        return [round(mean_bytes * count * share / sum(shares)) for share in shares for _ in range(self.chunks)]

    @property
    def total_bytes(self) -> int:
        """The bytes of all distinct segments of all rungs."""
        return sum(sum(self.sizes(rung)) for rung in self.rungs)


def video_content(video: Video) -> Content:
    """Return the video's files from the cache, or made; the only phase is its manifest."""
    rungs = ",".join(f"{name}={bitrate}" for name, bitrate in video.rungs.items())
    resolved: dict[str, Scalar] = {
        "rungs": rungs,
        "segment_ns": video.segment_ns,
        "length_ns": video.length_ns,
        "bitrate": video.bitrate,
        **({} if video.chunks == 1 else {"chunks": video.chunks}),
    }
    return make_content("video", resolved, lambda to: _write(to, video))


def _write(to: Writer, video: Video) -> tuple[tuple[str, ...], ...]:
    rungs = []
    for name, bitrate_bps in video.rungs.items():
        segments = []
        for number, size_bytes in enumerate(video.sizes(name)):
            path = f"/video/{name}/{number:03}.m4s"
            to.add(path, noise(f"video {path}", size_bytes))
            segments.append({"path": path, "bytes": size_bytes})
        rungs.append({"name": name, "bitrate_bps": bitrate_bps, "segments": segments})
    chunks = {} if video.chunks == 1 else {"chunks": video.chunks}
    manifest = {"length_ns": video.length_ns, "segment_ns": video.chunk_ns, **chunks, "rungs": rungs}
    to.add(MANIFEST_PATH, _once(json.dumps(manifest, separators=(",", ":")).encode() + b"\n"))
    return ((MANIFEST_PATH,),)


def _once(block: bytes) -> Iterator[bytes]:
    yield block


def _complexity(number: int) -> int:
    """Return how many bytes a segment needs relative to others, the same on every rung.

    Scenes of three segments need 0.4 to 1.6 times the mean (triangular), and each segment 0.9 to 1.1 times its scene.
    """
    scene = (
        400 + _drawn(f"scene {number // _SCENE_SEGMENTS} a", 601) + _drawn(f"scene {number // _SCENE_SEGMENTS} b", 601)
    )
    return scene * (900 + _drawn(f"segment {number}", 201)) // _PERMILLE


def _drawn(name: str, below: int) -> int:
    """Return a whole number from 0 to below `below`, the same everywhere."""
    return int.from_bytes(hashlib.sha256(f"video {name}".encode()).digest()[:8], "big") % below
