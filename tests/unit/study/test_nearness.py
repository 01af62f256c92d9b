"""A few near names are offered, the best first."""

from longlook.study.nearness import near_names

STUDIES = ["demo", "strata", "certify-strata", "certify-cells", "kakhki2017-fig6a", "kakhki2017-fig6b", "tail-loss"]


def test_misspelt_names_come_first() -> None:
    assert near_names("kakhki2017-fig6", STUDIES)[:2] == ["kakhki2017-fig6b", "kakhki2017-fig6a"]
    assert near_names("dmeo", STUDIES)[0] == "demo"


def test_names_that_share_a_part_follow() -> None:
    assert near_names("strata-trials", STUDIES)[:2] == ["strata", "certify-strata"]
    assert set(near_names("fig6", STUDIES)[:2]) == {"kakhki2017-fig6a", "kakhki2017-fig6b"}


def test_there_are_never_more_than_five() -> None:
    assert len(near_names("study", [f"study-{number}" for number in range(100)])) == 5
    assert near_names("", STUDIES) == near_names("x" * 5000, STUDIES) == []
