"""A live source of media: when it produces its frames, how large they are, and which bytes they have. Pure.

Programs get a `LiveSource` as their job (adapters/CONTRACT.md, Live); judges and metrics read the same schedule.
Standard library only; guests import it.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from longlook.core.model import Scalar, Workload

CARRIER = "carrier"
"""Knob of a client over QUIC: how frames travel."""
CARRIERS = ("stream_per_frame", "one_stream", "datagrams")
FRAGMENT_BYTES, MOST_FRAGMENTS = 1_100, 65_535
"""The part of a frame that a datagram carries, and how many datagrams its header can number."""
DEADLINE = "deadline_s"
"""Parameter of a workload: a frame that is whole later than that is late."""
LARGEST_FRAME_BYTES = FRAGMENT_BYTES * MOST_FRAGMENTS
MOST_FRAMES = 36_000
MOST_SOURCE_BYTES = 1 << 29
"""The size of all frames: both programs may have as much in memory, and judges make it again."""

_NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class LiveSource:
    """The frames that a server produces: frame i at i × `interval_ns` after the first, whatever the path takes.

    Every `key_frame_every`-th frame, the first too, has `key_frame_bytes`, all others `frame_bytes`; 0: none has.
    A frame that has not left whole `drop_after_ns` after its production is given up where the carrier allows that; 0:
    never. Both ends give up everything `drain_ns` after the last interval.
    """

    frames: int
    interval_ns: int
    frame_bytes: int
    key_frame_bytes: int
    key_frame_every: int
    drop_after_ns: int
    drain_ns: int

    def size_bytes(self, frame: int) -> int:
        """Return the size of the body of frame `frame`, from 0."""
        is_key = self.key_frame_every > 0 and frame % self.key_frame_every == 0
        return self.key_frame_bytes if is_key else self.frame_bytes

    @property
    def total_bytes(self) -> int:
        """Return the size of all bodies."""
        keys = -(-self.frames // self.key_frame_every) if self.key_frame_every else 0
        return keys * self.key_frame_bytes + (self.frames - keys) * self.frame_bytes


def sizes_bytes(rate_bps: int, interval_ns: int, key_every: int, key_factor: int) -> tuple[int, int]:
    """Return the size of a key frame and of any other, so that the mean over a group of `key_every` frames is the rate.

    Without key frames (`key_every` 0) the first is 0. A key frame has about `key_factor` times as many bytes as another
    one. The others are rounded down, and the key frame has the rest, so that a group is wrong by half a byte at most.
    """
    mean = Fraction(rate_bps * interval_ns, 8 * _NS_PER_S)
    if not key_every:
        return 0, round(mean)
    other = int(mean * key_every / (key_every - 1 + key_factor))
    return round(mean * key_every) - (key_every - 1) * other, other


def source_of(parameters: Mapping[str, Scalar]) -> LiveSource:
    """Return the source that a live workload's parameters describe; nothing is checked."""
    interval_ns = round(float(parameters["frame_interval_s"]) * _NS_PER_S)
    key_every, key_factor = int(parameters["key_frame_every"]), int(parameters["key_frame_factor"])
    key_bytes, other_bytes = sizes_bytes(int(parameters["rate_bps"]), interval_ns, key_every, key_factor)
    return LiveSource(
        frames=round(float(parameters["length_s"]) * _NS_PER_S) // interval_ns,
        interval_ns=interval_ns,
        frame_bytes=other_bytes,
        key_frame_bytes=key_bytes,
        key_frame_every=key_every,
        drop_after_ns=round(float(parameters["drop_after_s"]) * _NS_PER_S),
        drain_ns=round(float(parameters["drain_s"]) * _NS_PER_S),
    )


def lasts_s(workload: Workload) -> float | None:
    """Return how long a live source and its drain last, in s after the first frame; None if there is no such source."""
    if DEADLINE not in workload.parameters:
        return None
    return float(workload.parameters["length_s"]) + float(workload.parameters["drain_s"])


def body(frame: int, size_bytes: int) -> bytes:
    """Return the bytes of a frame: SHAKE-256 of its number."""
    return hashlib.shake_256(f"live {frame}".encode()).digest(size_bytes)


def digest_of(source: LiveSource, frames: Iterable[int]) -> str:
    """Return the digest of some frames in their order: SHA-256 of the SHA-256 of each body."""
    whole = hashlib.sha256()
    for frame in frames:
        whole.update(hashlib.sha256(body(frame, source.size_bytes(frame))).digest())
    return f"sha256:{whole.hexdigest()}"
