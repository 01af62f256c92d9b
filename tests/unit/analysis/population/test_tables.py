"""Measurements of users: units, published columns, and rows that cannot be."""

from pathlib import Path

import numpy as np
import pytest

from longlook.analysis.population.tables import read_measured, read_users_by_key
from longlook.core import InputError


def table(folder: Path, text: str) -> Path:
    path = folder / "users.csv"
    path.write_text(text, encoding="utf-8")
    return path


def refused(path: Path, columns: dict[str, str], form: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read_measured(path, columns, form)
    return f"{caught.value.message} | {caught.value.hint}"


def test_units_come_from_the_names_of_columns(tmp_path: Path) -> None:
    path = table(tmp_path, "rtt_ms,downlink_mbps,loss_pct,views\n50,10,2,3\n80,5,0,1\n")
    found = read_measured(path, {})
    assert found.quantities["rtt"].tolist() == pytest.approx([0.05, 0.08])
    assert found.quantities["rate"].tolist() == [10e6, 5e6]
    assert found.quantities["loss"].tolist() == pytest.approx([0.02, 0.0])
    assert found.weights is not None
    assert found.weights.tolist() == [3, 1]


def test_units_come_from_the_mapping_and_the_same_users_are_the_same_in_other_units(tmp_path: Path) -> None:
    one = read_measured(table(tmp_path, "a;b\n0.05;10000\n0.08;5000\n"), {"rtt": "a:s", "rate": "b:kbit"})
    other = read_measured(table(tmp_path, "a,b\n50,10\n80,5\n"), {"rtt": "a:ms", "rate": "b:Mbit"})
    assert one.quantities["rtt"].tolist() == pytest.approx(other.quantities["rtt"].tolist())
    assert one.quantities["rate"].tolist() == pytest.approx(other.quantities["rate"].tolist())


def test_ndt7_has_its_published_columns(tmp_path: Path) -> None:
    path = table(tmp_path, "date,a.MeanThroughputMbps,a.MinRTT,a.LossRate\nx,20,36.5,0.01\n")
    found = read_measured(path, {}, "ndt7")
    assert found.quantities["rtt"].tolist() == pytest.approx([0.0365])
    assert found.quantities["rate"].tolist() == [20e6]
    assert found.quantities["loss"].tolist() == [0.01]


def test_rows_without_a_value_are_counted(tmp_path: Path) -> None:
    path = table(tmp_path, "rtt_ms,rate_mbps\n50,10\n,10\n0,4\n60,NA\n")
    found = read_measured(path, {})
    assert found.rows == 4
    assert dict(found.left_out) == {"without a value in rtt_ms": 2, "without a value in rate_mbps": 1}
    assert len(found.quantities["rtt"]) == 1


@pytest.mark.parametrize(
    ("text", "columns", "said"),
    [
        ("rtt,rate_mbps\n50,10\n", {}, "column 'rtt' has no unit"),
        ("rtt_ms,rate_mbps\n,10\n,20\n", {}, "column 'rtt_ms' is empty"),
        ("rtt_ms,rate_mbps\n50,10\nfast,20\n", {}, "users.csv:3: rtt_ms = fast: not a number"),
        ("rtt_ms,rate_mbps\n50,10\n-5,20\n", {}, "users.csv:3: rtt_ms = -5 is negative"),
        ("rtt_ms,rate_mbps\n0.05,10\n0.08,20\n", {}, "the median of rtt_ms, read in ms, is 6.5e-05 s"),
        ("rtt_ms,rate_mbps\n50,10000000\n", {}, "the median of rate_mbps, read in Mbit, is 1e+13 bit/s"),
        (
            "rtt_ms,rate_mbps,loss_share\n50,10,0.01\n50,10,2\n",
            {},
            "users.csv:3: loss_share = 2: more than all packets",
        ),
        ("rtt_ms,rate_mbps\n50,10,7\n", {}, "users.csv:2: 3 cells"),
        ("50,10\n60,20\n", {}, "no names of columns"),
        ("rtt_ms,speed\n50,10\n", {}, "which column is the rate?"),
        ("rtt_ms,rate_mbps\n50,10\n", {"rtt": "rtt_ms:parsec", "rate": "rate_mbps"}, "'parsec' is no unit"),
        ("rtt_ms,rate_mbps\n", {}, "no row"),
        ("rtt_ms,rate_mbps,users\n50,10,0\n", {}, "all of users is 0"),
        ("rtt_ms,rate_mbps,blocked\n50,10,maybe\n", {}, "users.csv:2: blocked = maybe: neither yes nor no"),
    ],
)
def test_what_cannot_be_is_refused_with_the_row_and_the_fix(
    tmp_path: Path, text: str, columns: dict[str, str], said: str
) -> None:
    assert said in refused(table(tmp_path, text), columns)


def test_users_by_network_have_separators_of_thousands_and_as_before_numbers(tmp_path: Path) -> None:
    path = table(tmp_path, 'ASN,Users (est.)\nAS3320,"12,000"\n7922,8000\n')
    assert read_users_by_key(path, "ASN", "Users (est.)") == {"3320": 12_000.0, "7922": 8_000.0}


def test_a_share_of_loss_that_is_no_number_of_percent_is_kept(tmp_path: Path) -> None:
    found = read_measured(table(tmp_path, "rtt_ms,rate_mbps,loss %\n50,10,1\n50,10,3\n"), {
        "rtt": "rtt_ms", "rate": "rate_mbps", "loss": "loss %"})  # fmt: skip
    assert np.mean(found.quantities["loss"]) == pytest.approx(0.02)
