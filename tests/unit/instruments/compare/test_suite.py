"""The suite of a gate: the default, a repository's own, and what is refused."""

import tomllib

import pytest

from longlook.core.errors import InputError
from longlook.instruments.compare.suite import DEFAULT, SuiteCase, parse_suite


def parse(text: str):  # type: ignore[no-untyped-def]
    return parse_suite(tomllib.loads(text), "longlook.toml")


def test_the_default_has_six_networks_that_can_be_made() -> None:
    assert [case.name for case in DEFAULT.cases] == ["clean", "long", "lossy", "bursts", "shallow queue", "reordering"]
    assert DEFAULT.cases[3].settings()["network.loss"] == "burst(0.2%, 4)"
    assert DEFAULT.gate_pct == 5.0
    assert parse("") == DEFAULT


def test_a_repository_has_its_own() -> None:
    suite = parse('[gate]\nstack = "quinn"\nallows = "2%"\nmetrics = ["throughput"]\n'
                  '[[gate.cases]]\nname = "ours"\non = "20mbit,50ms"\nsize = "30KB"\nobjects = 3')  # fmt: skip
    assert suite.cases == (SuiteCase("ours", "20mbit,50ms", "30KB", 3),)
    assert (suite.stack, suite.gate_pct, suite.metrics) == ("quinn", 2.0, ("throughput",))
    assert suite.cases[0].settings() == {
        "network.rate": "20mbit", "network.rtt": "50ms", "workload.object": "30KB", "workload.objects": 3,
    }  # fmt: skip
    assert suite.only(["ours"]) == suite == suite.only([])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gate = 5", "is no table"),
        ("[gate]\nallow = '5%'", "unknown key 'allow'"),
        ("[gate]\nallows = 5", "allows = 5"),
        ("[gate]\nallows = 'much'", "--gate much"),
        ("[gate]\ncases = 3", "no list"),
        ("[gate]\ncases = []", "there must be one"),
        ("[[gate.cases]]\non = '10mbit,36ms'", "name missing"),
        ("[[gate.cases]]\nname = 'a'\non = 'nowhere'", "neither a preset"),
        (
            "[[gate.cases]]\nname = 'a'\non = '1mbit,1ms'\n[[gate.cases]]\nname = 'a'\non = '2mbit,1ms'",
            "names of their",
        ),
    ],
)
def test_what_cannot_be_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse(text)


def test_an_unknown_case_is_refused() -> None:
    with pytest.raises(InputError, match="no such case"):
        DEFAULT.only(["dirty"])
