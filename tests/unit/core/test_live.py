"""The schedule of a live source: the mean rate is kept, and its frames have the same bytes everywhere."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from longlook.core.live import LiveSource, body, digest_of, sizes_bytes, source_of

PARAMETERS = {
    "rate_bps": 4_000_000,
    "frame_interval_s": 0.04,
    "length_s": 10.0,
    "key_frame_every": 25,
    "key_frame_factor": 5,
    "deadline_s": 0.3,
    "drop_after_s": 0.6,
    "drain_s": 2.0,
}


@given(
    rate_bps=st.integers(1_000, 1_000_000_000),
    interval_ns=st.integers(1_000_000, 10_000_000_000),
    every=st.integers(0, 10_000),
    factor=st.integers(1, 100),
)
def test_a_group_of_frames_has_the_mean_rate(rate_bps: int, interval_ns: int, every: int, factor: int) -> None:
    key, other = sizes_bytes(rate_bps, interval_ns, every, factor if every > 1 else 1)
    group = max(every, 1)
    total = key + (group - 1) * other if every else other
    assert abs(total * 8 * 10**9 - rate_bps * interval_ns * group) <= 4 * 10**9  # half a byte in all
    if every > 1 and other > 1_000:
        assert factor - 0.01 * every <= key / other <= factor + 0.01 * every


@given(st.integers(1, 500), st.integers(0, 60))
def test_the_size_of_all_frames_is_that_of_each(frames: int, every: int) -> None:
    source = LiveSource(frames, 40_000_000, 1000, 7000, every, 0, 0)
    assert source.total_bytes == sum(source.size_bytes(frame) for frame in range(frames))


def test_a_source_is_what_its_parameters_say() -> None:
    source = source_of(PARAMETERS)
    assert (source.frames, source.interval_ns, source.drop_after_ns) == (250, 40_000_000, 600_000_000)
    assert (source.key_frame_bytes, source.frame_bytes) == (86_216, 17_241)
    assert [source.size_bytes(frame) for frame in (0, 1, 24, 25)] == [86_216, 17_241, 17_241, 86_216]
    assert source.total_bytes == 5_000_000


def test_bytes_depend_on_the_number_alone() -> None:
    assert body(7, 100) == body(7, 200)[:100] != body(8, 100)
    source = LiveSource(3, 1, 10, 0, 0, 0, 0)
    parts = b"".join(hashlib.sha256(body(frame, 10)).digest() for frame in (0, 2))
    assert digest_of(source, (0, 2)) == f"sha256:{hashlib.sha256(parts).hexdigest()}"
    assert digest_of(source, ()) == f"sha256:{hashlib.sha256().hexdigest()}"
