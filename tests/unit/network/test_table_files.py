"""Tables as people have them: dates, blanks, no names, JSON of Sabre and of iperf3; or what to do instead."""

import json
from typing import Any

import pytest

from longlook.network.tables import Column, Reading, date_us, read_table
from longlook.network.traces import LARGEST_BYTES, TraceError

RATE = Column("rate", "Mbit")


def lines_of(data: bytes, reading: Reading) -> list[str]:
    return read_table(data, reading, "t").text.splitlines()[1:]


@pytest.mark.parametrize(
    ("text", "after", "zone"),
    [
        ("2020.03.07_21.05.09", "2020.03.07_21.05.11", ""),
        ("2020.3.7_21.5.09.5", "2020.3.7_21.5.11.5", ""),
        ("2022-11-30 08:15:00 PST", "2022-11-30 08:15:02 PST", "PST"),
        ("2022-11-30T08:15:00Z", "2022-11-30T08:15:02+00:00", ""),
        ("2022-11-30T08:15:00+01:00", "2022-11-30T07:15:02+00:00", ""),
        ("2022-11-30 08:15:00.250 UTC", "2022-11-30 08:15:02.250", ""),
    ],
)
def test_dates(text: str, after: str, zone: str) -> None:
    first, second = date_us(text), date_us(after)
    assert first is not None
    assert second is not None
    assert (first[1], second[0] - first[0]) == (zone, 2_000_000)


@pytest.mark.parametrize("text", ["", "12", "1575.5", "yesterday", "2020.13.07_21.05.09", "21:05", "CDT"])
def test_what_is_no_date(text: str) -> None:
    assert date_us(text) is None


def test_rows_last_until_the_next_ones_date() -> None:
    table = b"at,rate,ping\n2020.03.07_21.05.09,7,-\n2020.03.07_21.05.10,8,40\n2020.03.07_21.05.13,9,60\n"
    reading = Reading(RATE, rtt=Column("ping", "ms"), time=Column("at", "s"))
    assert lines_of(table, reading) == ["3000000,20000000,8000000,0,0", "2000000,30000000,9000000,0,0"]


def test_rows_shorter_than_the_names_and_a_named_zone() -> None:
    table = b"at,rate,speed,latitude\n2022-11-30 08:15:00 PST,30.5\n2022-11-30 08:15:01 PST,20\n"
    assert lines_of(table, Reading(RATE, time=Column("at", "s"))) == [
        "1000000,0,30500000,0,0",
        "1000000,0,20000000,0,0",
    ]


def test_a_zone_that_changes_is_refused() -> None:
    table = b"at,rate\n2022-11-06 01:59:59 PDT,1\n2022-11-06 01:00:00 PST,2\n"
    with pytest.raises(
        TraceError, match=r"t:3: .* is of another time zone than the rows before; choose rows by --where"
    ):
        lines_of(table, Reading(RATE, time=Column("at", "s")))


def test_a_time_that_is_none_says_what_is_read() -> None:
    with pytest.raises(TraceError, match="at is 'soon', which is neither a number nor a date, as 2026-01-31T12:00:00"):
        lines_of(b"at,rate\nsoon,1\n", Reading(RATE, time=Column("at", "s")))


@pytest.mark.parametrize("separator", [None, "blanks"])
def test_blanks_and_columns_by_number(separator: str | None) -> None:
    reading = Reading(Column("2", "Mbit"), time=Column("1", "s"), separator=separator, header=False)
    assert lines_of(b"0.0   4.5\n1.25\t3\n\n 2.5 2 \n", reading) == [
        "1250000,0,4500000,0,0",
        "1250000,0,3000000,0,0",
        "1250000,0,2000000,0,0",
    ]


def test_blanks_with_names() -> None:
    assert lines_of(b"seconds rate\n0 4\n2 5\n", Reading(RATE, time=Column("seconds", "s"))) == [
        "2000000,0,4000000,0,0",
        "2000000,0,5000000,0,0",
    ]


@pytest.mark.parametrize("table", [b"0.0 4.5\n1.0 4\n", b"0.0,4.5\n1.0,4\n"])
def test_a_file_without_names_says_how_it_is_read(table: bytes) -> None:
    with pytest.raises(TraceError, match="its first line has no names: give --no-header, and columns by their numbers"):
        lines_of(table, Reading(RATE))


def test_a_separator_that_is_given_is_used() -> None:
    assert lines_of(b"rate;a,b\n4;1,2\n", Reading(RATE, separator="semicolon")) == ["1000000,0,4000000,0,0"]
    with pytest.raises(TraceError, match="no column 'rate'"):
        lines_of(b"rate;a\n4;1\n", Reading(RATE, separator="comma"))


SABRE = [
    {"duration_ms": 1013, "bandwidth_kbps": 1285, "latency_ms": 90},
    {"duration_ms": 2500.5, "bandwidth_kbps": 812.5, "latency_ms": 70},
]


def test_sabre_has_its_own_lengths() -> None:
    reading = Reading(Column("bandwidth_kbps", "kbit"), rtt=Column("latency_ms", "ms"))
    data = json.dumps(SABRE).encode()
    assert lines_of(data, reading) == ["1013000,45000000,1285000,0,0", "2500500,35000000,812500,0,0"]
    given = Reading(Column("bandwidth_kbps", "kbit"), every_ns=10**9)
    assert lines_of(data, given) == ["1000000,0,1285000,0,0", "1000000,0,812500,0,0"]


def iperf3(*rates_bps: float, **members: Any) -> bytes:
    intervals = [
        {
            "streams": [{"rtt": 20_000 + 1000 * number}, {"rtt": 22_000 + 1000 * number}],
            "sum": {"start": number, "seconds": 1.002, "bits_per_second": rate_bps, "omitted": number == 0},
        }
        for number, rate_bps in enumerate(rates_bps)
    ]
    return json.dumps({"start": {}, "intervals": intervals, "end": {}, **members}).encode()


def test_iperf3_has_intervals_of_which_omitted_ones_are_none() -> None:
    reading = Reading(Column("bits_per_second", "bit"), rtt=Column("rtt", "us"))
    assert lines_of(iperf3(9e9, 5e7, 4.5e7), reading) == [
        "1002000,11000000,50000000,0,0",
        "1002000,11500000,45000000,0,0",
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (iperf3(1e6, error="unable to connect"), "iperf3 failed: unable to connect"),
        (iperf3(), "has no interval"),
        (iperf3(5e7), "has no interval"),
        (b"{}", "nor iperf3's"),
        (b"[1, 2]", "nor iperf3's"),
        (b"[]", "nor iperf3's"),
        (json.dumps(SABRE).encode(), "no column 'rate'.*columns: duration_ms, bandwidth_kbps, latency_ms"),
        (b"[" * 50_000, "no column 'rate'"),
        (b"\xff\xfe", "not text"),
        (b"x" * (LARGEST_BYTES + 1), "allowed: at most"),
    ],
    ids=["failed", "empty", "omitted", "object", "numbers", "nothing", "columns", "deep", "bytes", "large"],
)
def test_what_is_no_table_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        lines_of(data, Reading(RATE))


@pytest.mark.parametrize("length", ["0", "-3", "", "x"])
def test_a_row_lasts_for_some_time(length: str) -> None:
    with pytest.raises(TraceError, match="t:2: lasts is"):
        lines_of(f"lasts,rate\n{length},4\n".encode(), Reading(RATE, lasts=Column("lasts", "s")))


@pytest.mark.parametrize(
    ("data", "reading", "checks"),
    [
        (b"rate\n50\n60\n", Reading(RATE), []),
        (b"rate\n50000\n60000\n", Reading(RATE), ["rate_too_high"]),
        (b"rate\n0.004\n0.005\n", Reading(RATE), ["rate_too_low"]),
        (b"rate,d\n5,20\n5,30\n", Reading(RATE, delay=Column("d", "s")), ["delay_too_long"]),
        (b"rate,l\n5,2\n5,1\n", Reading(RATE, loss=Column("l", "%")), []),
        (b"rate,l\n5,0.9\n5,0.2\n", Reading(RATE, loss=Column("l", "share")), ["loss_too_high"]),
        (b"at,rate\n1000,5\n2000,5\n3000,5\n", Reading(RATE, time=Column("at", "ms")), []),
        (b"at,rate\n1000,5\n2000,5\n3000,5\n", Reading(RATE, time=Column("at", "ns")), ["row_length"]),
        (b"at,rate\n0,5\n90000,5\n180000,5\n", Reading(RATE, time=Column("at", "s")), ["row_length"]),
        (b"at,rate\n0,5\n1,5\n2,5\n9,5\n10,5\n", Reading(RATE, time=Column("at", "s")), ["gaps"]),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, list) else None,
)  # fmt: skip
def test_what_no_path_has_is_said(data: bytes, reading: Reading, checks: list[str]) -> None:
    assert [found.check for found in read_table(data, reading, "t").implausible] == checks
