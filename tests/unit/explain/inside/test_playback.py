"""A played video as series and bands, on the play that the metrics' tests write by hand."""

import numpy as np

from longlook.explain.inside import look_inside
from longlook.explain.inside.playback import SAMPLE_NS, playback_bands, playback_series
from longlook.timeline.playback import Playback
from tests.unit.metrics.test_video_metrics import PLAYED

SECOND = 10**9


def play() -> Playback:
    found = Playback.of(PLAYED)
    assert found is not None
    return found


def test_the_bands_are_what_the_viewer_sees() -> None:
    bands = playback_bands(play(), 0)
    seen = list(zip(bands.name, bands.start_ns // SECOND, bands.end_ns // SECOND, strict=True))
    assert seen == [("waiting", 0, 2), ("playing", 2, 6), ("stalled", 6, 8), ("playing", 8, 14)]


def test_the_buffer_is_filled_by_segments_and_emptied_by_playing() -> None:
    series = playback_series(play(), 0)["buffer"]

    def at(time_s: float) -> float:  # what holds after that moment
        place = np.searchsorted(series.time_ns, time_s * SECOND, side="right") - 1
        return float(series.value[place]) / SECOND

    assert [at(1), at(2), at(4), at(6), at(7), at(8), at(8.5), at(9), at(14)] == [0, 4, 2, 0, 0, 4, 3.5, 7, 2]
    assert np.diff(series.time_ns).max() <= 2 * SECOND
    assert SAMPLE_NS in np.diff(series.time_ns)


def test_the_rung_is_that_of_what_was_asked_for() -> None:
    series = playback_series(play(), SECOND)["rung"]
    assert (series.time_ns // SECOND).tolist() == [0, 1, 7]
    assert series.value.tolist() == [1_000_000, 3_000_000, 3_000_000]


def test_the_picture_lasts_to_the_end_of_the_watching() -> None:
    inside = look_inside(PLAYED, None)
    assert inside.duration_s == 14
    assert {"buffer", "rung"} <= inside.series.keys()
    assert inside.bands["viewer"].name[2] == "stalled"
