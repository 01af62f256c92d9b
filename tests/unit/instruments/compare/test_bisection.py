from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from longlook.instruments.compare.bisection import BisectionResult, Row, VersionFinding, first_bad


def search(findings: str) -> tuple[BisectionResult, list[str]]:
    """`g`ood, `b`ad and `x` untestable versions in order of age."""
    known: Mapping[str, VersionFinding] = {
        "g": VersionFinding.GOOD,
        "b": VersionFinding.BAD,
        "x": VersionFinding.UNTESTABLE,
    }
    tried: list[str] = []

    def test(version: str) -> VersionFinding:
        tried.append(version)
        return known[findings[int(version)]]

    return first_bad(Row([str(number) for number in range(len(findings))]), test), tried


def test_neighbours_need_no_test() -> None:
    assert search("gb") == (BisectionResult("0", "1", ()), [])


def test_the_first_bad_one_is_found_in_few_steps() -> None:
    found, tried = search("g" * 11 + "b" * 6)
    assert found == BisectionResult("10", "11", ())
    assert len(tried) <= 4


def test_what_cannot_be_tested_is_passed_over_and_reported() -> None:
    assert search("ggxbb")[0] == BisectionResult("1", "3", ("2",))
    assert search("gxxxb") == (BisectionResult("0", "4", ("1", "2", "3")), ["2", "1", "3"])
    assert search("gxgbb")[0] == BisectionResult("2", "3", ())


@given(st.integers(1, 30), st.integers(1, 30), st.data())
def test_every_history_is_solved(good: int, bad: int, data: st.DataObject) -> None:
    history = list("g" * good + "b" * bad)
    for index in data.draw(st.sets(st.integers(1, max(1, len(history) - 2)))):
        if 0 < index < len(history) - 1:
            history[index] = "x"
    found, tried = search("".join(history))
    assert len(tried) == len(set(tried))
    assert history[int(found.last_good)] == "g"
    assert history[int(found.first_bad)] == "b"
    assert all(history[int(version)] == "x" for version in found.between)
    assert int(found.last_good) < good <= int(found.first_bad)
