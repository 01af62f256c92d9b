"""Operations on single packets: one text for each meaning, errors that say what to write, and their place in a link."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longlook.core import units
from longlook.core.model import Link, Stage
from longlook.core.problems import SettingError
from longlook.network import settings as network
from longlook.network.config import linger_of, link_config
from longlook.network.surgery import (
    LONGEST_NS,
    surgery_stage,
    surgery_text,
    with_surgery,
    with_surgery_over,
    without_surgery,
)
from longlook.study.settings import network_setting

BASE = {"network.rate": "10Mbit", "network.rtt": "36ms", "network.loss": "1%", "network.mtu": "1400B"}
MS = 1_000_000


@pytest.mark.parametrize(
    ("written", "canonical", "parameters"),
    [
        ("off", "off", None),
        ("forgive 12", "forgive 12", {"forgive": ((12, 12),)}),
        ("drop 30-32;", "drop 30-32", {"drop": ((30, 32),)}),
        ("  hold  40   20 ms ", "hold 40 20ms", {"hold": ((40, 40, 20 * MS),)}),
        ("drop 9, 3 - 4,5; drop 4", "drop 3-5, 9", {"drop": ((3, 5), (9, 9))}),
        ("hold 40 20ms; forgive 40; drop 1", "forgive 40; drop 1; hold 40 20ms", None),
        ("hold 9 1ms; hold 7 2ms; hold 8, 3 1000us", "hold 3, 8-9 1ms; hold 7 2ms", None),
        ("hold 1-3 0.5s; hold 2 500ms", "hold 1-3 500ms", {"hold": ((1, 3, 500 * MS),)}),
    ],
)
def test_operations_have_one_text(written: str, canonical: str, parameters: dict[str, Any] | None) -> None:
    assert surgery_text(written) == canonical
    assert surgery_text(canonical) == canonical
    assert surgery_stage(written) == surgery_stage(canonical)
    if parameters is not None:
        assert surgery_stage(written) == Stage("surgery", parameters)
    assert (surgery_stage(written) is None) == (canonical == "off")


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("", 'write operations on packets, for example "forgive 12; drop 30-32; hold 40 20ms", or "off"'),
        (12, "write operations on packets"),
        ("forgve 3", "'forgve' is no operation on packets; allowed: forgive, drop, hold; did you mean 'forgive'?"),
        ("drop 3;; drop 4", "'' is no operation on packets"),
        ("drop", "'drop': '' is not a packet's number: write whole numbers from 0 to"),
        ("drop -3", "'' is not a packet's number"),
        ("drop 3,", "'' is not a packet's number"),
        ("drop 1.5", "'1.5' is not a packet's number"),
        (f"drop {2**53 + 1}", "is not a packet's number: write whole numbers from 0 to 9007199254740992"),
        ("drop 32-30", "packets 32-30 run backwards: write 30-32"),
        ("hold 40", "'hold 40' does not say which packets are held for how long: write for example \"hold 40 20ms\""),
        ("hold 20ms", "does not say which packets"),
        ("hold 40 0ms", "'hold 40 0ms': allowed: above 0s, at most 3600s"),
        ("hold 40 3601s", "allowed: above 0s, at most 3600s"),
        ("hold 1-4 1ms; hold 4 2ms", "packet 4 is held for two times: write one hold for it"),
        ("drop 5-9; forgive 7-8", "packet 7 is named by drop and by forgive: what is dropped never leaves; take one"),
        ("hold 1 1ms; drop 1", "packet 1 is named by drop and by hold"),
        ("drop " + ", ".join(str(2 * number) for number in range(10_001)), "allowed: at most 10000"),
    ],
)
def test_what_is_no_operation_is_refused_with_what_to_write(written: object, words: str) -> None:
    with pytest.raises(units.UnitError) as raised:
        surgery_text(written)
    assert words in str(raised.value)


RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 4)), min_size=1, max_size=6)


@given(RANGES, RANGES, st.integers(1, 10**10))
def test_a_text_names_exactly_its_packets(dropped: Any, held: Any, held_ns: int) -> None:
    def numbers(ranges: Any, start: int) -> set[int]:
        return {number + start for first, more in ranges for number in range(first, first + more + 1)}

    def listed(ranges: Any, start: int) -> str:
        return ", ".join(f"{first + start}-{first + more + start}" for first, more in ranges)

    text = surgery_text(f"drop {listed(dropped, 0)}; hold {listed(held, 100)} {held_ns}ns")
    stage = surgery_stage(text)
    assert stage is not None
    assert surgery_text(text) == text
    rows = stage.parameters["drop"]
    assert {number for first, last in rows for number in range(first, last + 1)} == numbers(dropped, 0)
    assert all(before[1] + 1 < after[0] for before, after in pairwise(rows))
    rows = stage.parameters["hold"]
    assert {number for first, last, _ in rows for number in range(first, last + 1)} == numbers(held, 100)
    assert {row[2] for row in rows} == {held_ns}


def canonical(**settings: str) -> dict[str, Any]:
    return {key: network_setting(key, value) for key, value in {**BASE, **settings}.items()}


def test_a_link_gets_operations_where_its_settings_put_them() -> None:
    up, down = "hold 3 1ms", "forgive 12; drop 30"
    expected = network.link(canonical(**{"network.surgery.up": up, "network.surgery.down": down}))
    plain = network.link(canonical())
    assert with_surgery(plain, up=up, down=down) == expected
    assert with_surgery(plain, up="off", down="off") == plain
    assert without_surgery(expected) == plain
    assert without_surgery(plain) == plain
    assert [stage.kind for stage in expected.down] == ["mtu", "surgery", "loss", "rate", "delay"]
    assert with_surgery(Link((), ()), up=up, down="off") == Link((Stage("surgery", {"hold": ((3, 3, MS),)}),), ())


def test_operations_come_to_those_that_are_there() -> None:
    link = with_surgery(network.link(canonical()), up="off", down="forgive 3; hold 9 1ms")
    both = with_surgery(link, up="off", down="drop 7; forgive 4; hold 9 1ms")
    (stage,) = [stage for stage in both.down if stage.kind == "surgery"]
    assert stage.parameters == {"forgive": ((3, 4),), "drop": ((7, 7),), "hold": ((9, 9, MS),)}
    with pytest.raises(SettingError, match=r"packet 3 is named by drop and by forgive") as raised:
        with_surgery(link, up="off", down="drop 3")
    assert raised.value.key == "network.surgery.down"


def test_a_link_is_empty_only_after_what_is_held_has_left() -> None:
    link = network.link(canonical())
    held = with_surgery(link, up="hold 1 2s", down="hold 1 300ms")
    assert linger_of(held) == linger_of(link) + 2_000 * MS
    rows = link_config(held, seed=1, linger_ns=0)["down"]
    assert {"kind": "surgery", "parameters": {"hold": [[1, 1, 300 * MS]]}} in rows


def test_the_settings_are_of_a_direction() -> None:
    with pytest.raises(SettingError, match="unknown key"):
        network_setting("network.surgery", "drop 3")
    with pytest.raises(SettingError, match="unknown key"):
        network_setting("network.down.surgery", "drop 3")
    with pytest.raises(SettingError, match=r"is no operation on packets") as raised:
        network_setting("network.surgery.down", "drpo 3")
    assert raised.value.key == "network.surgery.down"


RANGES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4)), max_size=6)


@given(lost=RANGES, forgiven=RANGES, held=RANGES, is_corrupted=st.booleans())
def test_operations_over_planned_losses_win_over_them(
    lost: list[tuple[int, int]], forgiven: list[tuple[int, int]], held: list[tuple[int, int]], is_corrupted: bool
) -> None:
    def text(verb: str, ranges: list[tuple[int, int]], end: str = "") -> str:
        return f"{verb} {', '.join(f'{first}-{first + more}' for first, more in ranges)}{end}" if ranges else "off"

    def packets(ranges: list[tuple[int, int]]) -> set[int]:
        return {number for first, more in ranges for number in range(first, first + more + 1)}

    losing = text("hold", lost, " 3600s") if is_corrupted else text("drop", lost)
    planned = with_surgery(Link((), ()), up=losing, down="off")
    added = (
        "; ".join(part for part in (text("forgive", forgiven), text("hold", held, " 1ms")) if part != "off") or "off"
    )
    made = with_surgery_over(planned, up=added, down="off")
    found: dict[str, set[int]] = {"forgive": set(), "lost": set(), "hold": set()}
    for stage in made.up:
        for verb, rows in stage.parameters.items():
            for first, last, *for_ns in rows:
                is_lost = verb == "drop" or for_ns == [LONGEST_NS]
                found["lost" if is_lost else verb] |= set(range(first, last + 1))
    still_lost = packets(lost) - packets(forgiven)
    assert found == {"forgive": packets(forgiven), "lost": still_lost, "hold": packets(held) - still_lost}
