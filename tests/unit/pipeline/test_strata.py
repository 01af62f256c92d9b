"""The stage of strata: which arms are nearly one program."""

from dataclasses import replace

import pytest

from longlook.analysis import Packet
from longlook.pipeline.strata import FEW_AT_A_GATE, nearly_one_program
from tests.data.patterns import packets
from tests.data.trials import trial

LOADS: dict[str, list[Packet]] = {
    "old": packets(52, 94),
    "new": packets(51, 94),
    "knob": packets(52, 94),
    "other": packets(52, 80),
    "tcp": packets(52, 94),
}
ARMS = [trial(arm=arm, protocol="h2" if arm == "tcp" else "h3") for arm in LOADS]


@pytest.mark.parametrize(
    ("few", "alike"),
    [(0.0, {"old": "old", "knob": "old"}), (FEW_AT_A_GATE, {"old": "old", "new": "old", "knob": "old"})],
)
def test_programs_that_are_nearly_one_have_as_many_packets(few: float, alike: dict[str, str]) -> None:
    assert nearly_one_program(ARMS, LOADS, few) == alike


def test_a_load_may_differ_by_its_share_of_packets_in_each_direction() -> None:
    arms = [trial(arm="old"), trial(arm="new")]
    for up, down, is_near in ((95, 95, True), (105, 100, True), (94, 100, False), (100, 106, False)):
        loads = {"old": packets(100, 100), "new": packets(up, down)}
        assert bool(nearly_one_program(arms, loads, FEW_AT_A_GATE)) is is_near


def test_another_program_at_either_end_is_not_nearly_the_same() -> None:
    loads = {"old": packets(9, 9), "new": packets(9, 9)}
    old, new = trial(arm="old"), trial(arm="new")
    assert nearly_one_program([old, new], loads) == {"old": "old", "new": "old"}
    for end in ("client", "server"):
        other = replace(new, **{end: replace(getattr(new, end), stack="quiche")})
        assert nearly_one_program([old, other], loads) == {}
    versions = replace(new, client=replace(new.client, version="0.34.0"))
    assert nearly_one_program([old, versions], loads) == {"old": "old", "new": "old"}
