"""The rate at which packets came to the client over each of two links."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from longlook.timeline.normalise.trial import OVER_SECOND
from longlook.timeline.timeline import Kind, Timeline

BIN_S = 0.1
MAIN_LINK, SECOND_LINK = "main link", "second link"
LINK_COLUMNS = ("time_s", "link", "mbps")


def link_columns(timeline: Timeline) -> dict[str, list[Any]] | None:
    """Return the rate of IP packets that the client got over each link, in Mbit/s, in bins of BIN_S of the load.

    LINK_COLUMNS names the columns; `time_s` is a bin's beginning, after the load's. None without a load.
    """
    window = timeline.load_window_ns()
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED], timeline.data_direction)
    second = pc.fill_null(pc.match_substring(packets["detail"].cast(pa.string()), OVER_SECOND), False)
    if window is None:
        return None
    after_s = (np.array(packets["time_ns"], np.int64) - window[0]) / 1e9
    sizes, over_second = np.array(packets["size_bytes"], np.float64), np.array(second, np.bool_)
    count = int((window[1] - window[0]) / 1e9 / BIN_S) + 1
    times_s = [round(number * BIN_S, 3) for number in range(count)]
    rows: dict[str, list[Any]] = {name: [] for name in LINK_COLUMNS}
    for link, mask in ((MAIN_LINK, ~over_second), (SECOND_LINK, over_second)):
        rows["time_s"] += times_s
        rows["link"] += [link] * count
        rows["mbps"] += _rates(after_s[mask], sizes[mask], count)
    return rows


def _rates(after_s: "np.ndarray[Any, np.dtype[np.float64]]", sizes: Any, count: int) -> Sequence[float]:
    found, _ = np.histogram(after_s, bins=count, range=(0.0, count * BIN_S), weights=sizes)
    return [float(value) for value in np.round(found * 8 / BIN_S / 1e6, 3)]
