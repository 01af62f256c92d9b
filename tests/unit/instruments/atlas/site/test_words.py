"""The words of the search: whole ones, numbers with their units among them."""

import pytest

from longlook.instruments.atlas.site.words import index_of, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("10 MB", {"10mb"}),
        ("10MB at 10 Mbit/s", {"10mb", "at", "10mbit"}),
        ("5KBx200 · 10Mbit", {"5kbx200", "10mbit"}),
        ("1 % loss, +50 ms, 0.5 BDP", {"1%", "loss", "50ms", "0.5bdp"}),
        ("kakhki2017-fig6a: 0-RTT", {"kakhki2017", "fig6a", "0", "rtt"}),
        ("quic-go@0.65.0", {"quic", "go", "0.65.0"}),
        ("QUIC’s “lead” −5\u00a0%", {"quic", "s", "lead", "5%"}),
        ("10 mbox", {"10", "mbox"}),
        ("</script><b>", {"script", "b"}),
        ("", set()),
    ],
)
def test_words(text: str, words: set[str]) -> None:
    assert words_of(text) == words


def test_ten_megabit_is_not_ten_megabytes() -> None:
    assert not words_of("10 Mbit/s") & words_of("10 MB")


def test_an_index_names_each_word_once() -> None:
    index = index_of([("a.html", {"": {"x", "y"}}), ("b.html", {"": {"y"}})])
    assert index["words"] == ["x", "y"]
    assert index["pages"] == [["a.html", [["", [0, 1]]]], ["b.html", [["", [1]]]]]
