"""The tables of docs/reference/certificate.md."""

from pathlib import Path

from longlook.core.model import Analysis
from longlook.instruments.certify.certificate import Certificate, Part, load
from longlook.instruments.certify.document import FACTS, POWER, RATES, REPEATS, SMALLEST, TABLES
from longlook.instruments.certify.exactness import Repeated
from longlook.instruments.certify.fixed_rounds import moved_by, power
from longlook.instruments.certify.rates import Limit, Promise
from longlook.instruments.certify.run import empty
from longlook.instruments.certify.trial_bank import QUICK
from tests.data.certification import normal

ROOT = Path(__file__).parents[4]


def certificate(**parts: Part) -> Certificate:
    made = empty(QUICK, Analysis())
    return Certificate(**{**vars(made), "parts": parts})


def test_a_rate_has_its_counts_interval_level_and_finding() -> None:
    rate = Promise("a against a", "paired test", "p < 0.01", "cells", 0.01, Limit.AT_MOST).rate([True, *[False] * 99])
    assert rate is not None
    (row,) = TABLES[RATES](certificate(one=Part((rate,))))
    assert row == (
        "| a against a | paired test | p &lt; 0.01 | 1 of 100 | 1.0 % | 0.025 % to 5.4 % | ≤ 1.0 % | compatible |"
    )


def test_power_has_a_row_for_each_difference_and_the_smallest_that_is_found() -> None:
    table = power("moved", moved_by(normal(1, 50, 0.005), (0.1, 2.0)), Analysis(), 1, 5)
    made = certificate(power=Part(tuple(item.rate for item in table), power=tuple(table)))
    rows = list(TABLES[POWER](made))
    assert len(rows) == 2
    assert rows[1].startswith("| loads that take longer | 2 % | −2.00 % | 100 %")
    assert next(TABLES[SMALLEST](made)) == "| loads that take longer | 10 | 2 % |"
    assert list(TABLES[RATES](made)) == []


def test_repeats_are_summed_over_passes_and_what_was_not_made_says_why() -> None:
    repeated = [Repeated("none", 1, 8, 8), Repeated("none", 2, 8, 7), Repeated("memory", 1, 0, 0, missing="too little")]
    assert list(TABLES[REPEATS](certificate(one=Part(repeated=tuple(repeated))))) == [
        "| the host as it is | 15 of 16 |",
        "| half of the free memory, up to 4 GiB, taken and touched | not made: too little |",
        "| all | 15 of 16 |",
    ]


def test_a_part_that_was_not_measured_says_so() -> None:
    rows = list(TABLES[FACTS](certificate(live=Part(missing="no namespaces"))))
    assert "| minutes of live | not measured: no namespaces |" in rows


def test_every_machine_that_measured_a_part_is_named() -> None:
    one, two = ({"cpus": count, "kernel": "Linux 6.1"} for count in (2, 8))
    rows = list(TABLES[FACTS](certificate(a=Part(host=one), b=Part(host=two), c=Part(host=one), d=Part())))
    assert "| machines | 2 CPUs, Linux 6.1; 8 CPUs, Linux 6.1 |" in rows


def test_the_certificate_in_docs_is_one_and_sound() -> None:
    assert load(ROOT / "docs" / "data" / "certificate.json").parts
