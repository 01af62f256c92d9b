"""A table of measurements becomes a trace, or a message says which line or column is wrong."""

import pytest

from longlook.network.tables import RATES, SHARES, TIMES, Column, Reading, column, read_table
from longlook.network.traces import TraceError, parse_trace

TABLE = b"""\
run_num,seq_num,Throughput,ping,lost
1,0,812.5,22,0
1,1,,24,0
1,2,0,80,50
2,0,100,20,0
"""
RATE = Column("Throughput", "Mbit")
FIRST_RUN = {"run_num": "1"}


def text_of(reading: Reading, table: bytes = TABLE) -> list[str]:
    return read_table(table, reading, "t.csv").text.splitlines()[1:]


def test_a_row_becomes_a_line_and_an_empty_cell_lets_the_row_before_last_on() -> None:
    made = read_table(TABLE, Reading(RATE, where=FIRST_RUN), "t.csv")
    assert made.text.splitlines()[1:] == ["2000000,0,812500000,0,0", "1000000,0,1000,0,0"]
    assert (made.rows, made.skipped, made.filled, made.stopped, made.lasts_us) == (3, 0, 1, 1, 3_000_000)


def test_what_is_written_is_what_a_setting_reads() -> None:
    reading = Reading(RATE, rtt=Column("ping", "ms"), loss=Column("lost", "%"), where=FIRST_RUN)
    data = read_table(TABLE, reading, "t.csv").text.encode()
    assert parse_trace(data, "rate", "t.csv") == {
        "steps": ((0, 812_500_000), (2_000_000_000, 1000)),
        "repeat_ns": 3_000_000_000,
    }
    assert parse_trace(data, "delay", "t.csv") == {
        "steps": ((0, 11_000_000), (1_000_000_000, 12_000_000), (2_000_000_000, 40_000_000)),
        "repeat_ns": 3_000_000_000,
    }
    loss = parse_trace(data, "loss", "t.csv")
    assert isinstance(loss, dict)
    assert loss["steps"][1][1] == pytest.approx(0.5, abs=1e-9)


def test_a_column_with_gaps_takes_nothing_from_the_others() -> None:
    """Pings of every other row: each rate counts, from the first ping on, and a value lasts until its next one."""
    table = b"r,d,l\n9,,1\n8,10,\n7,,\n6,20,2\n,,\n5,,3\n"
    reading = Reading(Column("r", "Mbit"), delay=Column("d", "ms"), loss=Column("l", "%"))
    made = read_table(table, reading, "t.csv")
    lines = [tuple(map(int, line.split(",")))[:4] for line in made.text.splitlines()[1:]]
    assert [(lasts, delay, rate, round(loss / 2**32, 4)) for lasts, delay, rate, loss in lines] == [
        (1_000_000, 10_000_000, 8_000_000, 0.01),
        (1_000_000, 10_000_000, 7_000_000, 0.01),
        (2_000_000, 20_000_000, 6_000_000, 0.02),
        (1_000_000, 20_000_000, 5_000_000, 0.03),
    ]
    assert (made.rows, made.skipped, made.filled, made.lasts_us) == (6, 1, 4, 5_000_000)


def test_rows_last_until_the_next_ones_time() -> None:
    stamped = b"at;r\n10;1\n10.5;2\n12;3\n"
    reading = Reading(Column("r", "kbit"), time=Column("at", "s"))
    assert text_of(reading, stamped) == ["500000,0,1000,0,0", "1500000,0,2000,0,0", "1000000,0,3000,0,0"]


def test_rows_before_the_first_rate_are_left_out_and_counted() -> None:
    made = read_table(b"r\nN/A\n \n7\n8\n", Reading(Column("r", "Mbit")), "straße.csv")
    assert made.text.splitlines()[1:] == ["1000000,0,7000000,0,0", "1000000,0,8000000,0,0"]
    assert (made.rows, made.skipped, made.filled, made.lasts_us) == (4, 2, 0, 2_000_000)
    assert made.text.isascii()


def test_microseconds_are_rounded_once_and_not_row_by_row() -> None:
    assert text_of(Reading(Column("r", "Mbit"), every_ns=1500), b"r\n1\n2\n3\n4\n") == [
        "2,0,1000000,0,0",
        "1,0,2000000,0,0",
        "1,0,3000000,0,0",
        "2,0,4000000,0,0",
    ]


@pytest.mark.parametrize(
    "table", [b"t;rate (Mbit/s, mean, TCP);x\n0;5;1\n", b't\t"rate (Mbit/s, mean, TCP)"\tx\n0\t5\t"a ""b, c"" d"\n']
)
def test_the_separator_is_the_one_that_gives_the_wanted_columns(table: bytes) -> None:
    assert text_of(Reading(Column("rate (Mbit/s, mean, TCP)", "Mbit")), table) == ["1000000,0,5000000,0,0"]


def test_a_delay_of_one_way_is_taken_as_it_is_and_every_as_the_length() -> None:
    reading = Reading(Column("r", "MB"), delay=Column("d", "us"), every_ns=250_000_000)
    assert text_of(reading, b"\xef\xbb\xbfr\td\n2\t1500\n") == ["250000,1500000,16000000,0,0"]


@pytest.mark.parametrize(
    ("table", "reading", "message"),
    [
        (TABLE, Reading(Column("throughput", "Mbit")), r"no column 'throughput'; did you mean 'Throughput'\?"),
        (TABLE, Reading(RATE, where={"run_num": "7"}), "no row has run_num=7"),
        (TABLE, Reading(RATE, where={"run": "7"}), "no column 'run'"),
        (TABLE, Reading(RATE, time=Column("seq_num", "s")), r"t\.csv:5: its time is not 1 µs or more after that of"),
        (b"a,b\n", Reading(Column("a", "bit")), "t.csv: no row"),
        (b"", Reading(Column("a", "bit")), "no column 'a'"),
        (b"a\nnan\n", Reading(Column("a", "bit")), "no row has a rate in column a"),
        (b"a\n1\nfast\n", Reading(Column("a", "bit")), r"t\.csv:3: a is 'fast', which is no number"),
        (b"a\ninf\n", Reading(Column("a", "bit")), "which is no number"),
        (b"a\n-1\n", Reading(Column("a", "bit")), "a is -1 bit; allowed: 0 to 1 Tbit/s"),
        (b"a,l\n1,101\n", Reading(Column("a", "bit"), loss=Column("l", "%")), "l is 101 %; allowed: 0 to 100 %"),
        (b"a,d\n1,-1\n", Reading(Column("a", "bit"), delay=Column("d", "s")), "allowed: 0 to an hour each way"),
        (b"a,t\n1,\n2,3\n", Reading(Column("a", "bit"), time=Column("t", "s")), "t.csv:2: no time in column t"),
        (b"a,t\n1,1\n", Reading(Column("a", "bit"), time=Column("t", "s")), "give --every instead of --time"),
        (b"a\n\xff\n", Reading(Column("a", "bit")), "not text"),
        (b"a,b\n1\n", Reading(Column("b", "bit")), "no row has a rate in column b"),
        (b"a,a\n1,2\n", Reading(Column("a", "bit")), "several columns 'a'"),
        (b"a,b\n1,5,9\n", Reading(Column("a", "bit")), "t.csv:2: 3 cells; allowed: 2"),
        (b"a,t\n1,0\n2,700000\n", Reading(Column("a", "kbit"), time=Column("t", "s")), "longer than a week"),
        (b'"' + b"x" * 200_000 + b'"\n1\n', Reading(Column("a", "bit")), "t.csv: field larger than field limit"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(table: bytes, reading: Reading, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        read_table(table, reading, "t.csv")


def test_a_column_may_have_a_unit_and_a_colon_in_its_name() -> None:
    assert column("Throughput", RATES, "Mbit") == Column("Throughput", "Mbit")
    assert column("a:b:kbit", RATES, "Mbit") == Column("a:b", "kbit")
    for units in (RATES, TIMES, SHARES):
        with pytest.raises(TraceError, match="'parsec' is no unit of it; allowed"):
            column("x:parsec", units, "")
