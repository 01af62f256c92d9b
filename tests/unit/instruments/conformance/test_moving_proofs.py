"""Proofs about second addresses: when a client moves to its own or to the server's, and whether it uses both."""

from dataclasses import replace

import pytest

from longlook.instruments.conformance.checks import CheckStatus
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.proofs import PROOFS
from tests.data.conformance import FAILED, ask, knob, seen

from .test_proofs import judged


@pytest.mark.parametrize("name", ["move_at", "move_after_silence"])
def test_the_client_sends_from_its_second_address_after_the_time_that_was_set(name: str) -> None:
    moved = {after_s: replace(seen(), moved_s=after_s) for after_s in (0.3, 0.8, 1.25)}
    assert judged(name, {"short": moved[0.3], "long": moved[1.25]}).status is CheckStatus.PASSED
    assert judged(name, {"short": moved[0.3], "long": moved[0.8]}).status is CheckStatus.FAILED
    assert judged(name, {"short": moved[0.3], "long": seen()}).status is CheckStatus.FAILED


@pytest.mark.parametrize(("protocol", "carrier"), [("h3", "udp"), ("h2", "tcp")])
def test_the_packets_of_the_protocol_that_is_proven_are_those_that_end(protocol: str, carrier: str) -> None:
    check = PROOFS["move_after_silence"](replace(ask("move_after_silence", knob(float), "client"), protocol=protocol))
    for want in check.wants.values():
        stages = (*want.link.up, *want.link.down)
        assert [stage.parameters["protocol"] for stage in stages if stage.kind == "cutoff"] == [carrier, carrier]


def over_links(main_bytes: int, second_bytes: int) -> Seen:
    down = {"delivered_bytes": main_bytes, "dropped_queue": 0}
    return seen(link={"down": down, "second.down": {**down, "delivered_bytes": second_bytes}})


def test_several_paths_carry_data_where_both_ends_have_the_knob() -> None:
    alone, shared, copied = over_links(10**6, 2000), over_links(600_000, 450_000), over_links(10**6, 10**6)
    wanted = {"at one end": alone, "minrtt": shared, "redundant": copied}
    assert judged("multipath", wanted).status is CheckStatus.PASSED
    for name, wrong in (("at one end", shared), ("minrtt", alone), ("redundant", shared), ("minrtt", seen(**FAILED))):
        assert judged("multipath", {**wanted, name: wrong}).status is CheckStatus.FAILED, name


def test_a_client_follows_to_the_address_that_the_server_prefers_where_it_offers_one() -> None:
    stays, moves = over_links(10**6, 0), over_links(30_000, 10**6)
    assert judged("preferred_address", {"off": stays, "on": moves}).status is CheckStatus.PASSED
    for name, wrong in (("off", moves), ("on", stays), ("on", over_links(10**6, 2000)), ("on", seen(**FAILED))):
        assert judged("preferred_address", {"off": stays, "on": moves, name: wrong}).status is CheckStatus.FAILED, name
