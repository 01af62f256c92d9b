"""What came over each of two links over time, on a timeline written by hand."""

from typing import Any

import pytest

from longlook.timeline.normalise.trial import OVER_SECOND
from longlook.timeline.over_links import BIN_S, MAIN_LINK, SECOND_LINK, link_columns
from longlook.timeline.timeline import Timeline, table_of_rows

COMMON: dict[str, Any] = {"flow": "udp 10.8.0.1:4 10.8.0.2:443", "priming": False}
LOAD = (
    {"time_ns": 10**9, "vantage": "client", "kind": "request_sent", "name": "/a", **COMMON},
    {"time_ns": 2 * 10**9, "vantage": "client", "kind": "object_done", "name": "/a", **COMMON},
)


def rates(*packets: tuple[float, int, str | None]) -> dict[tuple[str, float], float]:
    """The rates that are not 0: of packets with a time in s, a size and a detail."""
    rows: list[dict[str, Any]] = [
        {"time_ns": round(at_s * 1e9), "vantage": "link", "kind": "packet_delivered", "direction": "down",
         "size_bytes": size, "detail": detail, **COMMON}
        for at_s, size, detail in packets
    ]  # fmt: skip
    ordered = sorted([*LOAD, *rows], key=lambda row: int(row["time_ns"]))
    columns = link_columns(Timeline(table_of_rows(ordered)))
    assert columns is not None
    found = zip(columns["link"], columns["time_s"], columns["mbps"], strict=True)
    return {(link, time_s): mbps for link, time_s, mbps in found if mbps}


def test_each_link_has_a_rate_of_its_own_from_the_loads_beginning() -> None:
    seen = rates(
        (0.9, 1500, None), (1.02, 1250, None), (1.03, 1250, None), (1.54, 2500, OVER_SECOND),
        (1.55, 500, f"late; {OVER_SECOND}"),
    )  # fmt: skip
    assert seen == {
        (MAIN_LINK, 0.0): pytest.approx(2500 * 8 / BIN_S / 1e6),
        (SECOND_LINK, 0.5): pytest.approx(3000 * 8 / BIN_S / 1e6),
    }


def test_there_is_nothing_without_a_load() -> None:
    assert link_columns(Timeline(table_of_rows([]))) is None
