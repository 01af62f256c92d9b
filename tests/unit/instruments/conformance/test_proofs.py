"""Each proof passes where the knob's effect is in the evidence, and fails where it is not."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from longlook.core import registry
from longlook.core.live import CARRIERS
from longlook.core.stack import Knob, Stack
from longlook.instruments.conformance.checks import CheckFinding, CheckStatus
from longlook.instruments.conformance.evidence import RouterPackets, Seen
from longlook.instruments.conformance.proofs import PROOFS
from longlook.instruments.conformance.qlogs import Event
from tests.data.conformance import FAILED, ask, data, knob, knobs_of, packets, seen

RTT_S = 0.1

KNOBS: Mapping[str, Knob] = {
    **{name: knob(minimum=1) for name in PROOFS},
    "congestion_control": knob(str, choices=("reno", "cubic", "bbr")),
    "law": knob(str, choices=("fixed", "exponential")),
    **{name: knob(bool) for name in ("pacing", "hystart", "disable_pmtud", "gso", "ecn", "allow_0rtt", "retry")},
    **{name: knob(float) for name in ("max_ack_delay", "time_threshold", "initial_rtt", "requested_max_ack_delay")},
    **{name: knob(str) for name in ("memory", "resolver")},
    "upload_answer": knob(str, choices=("whole", "refused", "early", "reset")),
    "player": knob(str, choices=("shaka", "dash.js")),
    "multipath": knob(str, choices=("minrtt", "redundant")),
    "dont_fragment": knob(str, choices=("set", "unset", "kernel")),
    "carrier": knob(str, choices=CARRIERS),
    **{name: knob(float) for name in ("on", "off", "window_after_loss", "pto_factor", "fallback_delay")},
    **{name: knob(float) for name in ("stall_timeout", "move_at", "move_after_silence")},
    **{name: knob(float) for name in ("idle_timeout", "keep_alive", "handshake_timeout")},
}
SIBLINGS = {name: knob(minimum=1) for name in ("packet_threshold", "requested_ack_threshold")}


def role_of(name: str) -> str:
    """The role in which the knob decides something."""
    windows = [f"{of}_{what}_window" for of in ("max", "http2") for what in ("stream", "connection")]
    of_clients = (*windows, "receive_queue", "ack_threshold", "memory", "resolver", "player", "carrier")
    return "client" if name in of_clients else "server"


def judged(name: str, evidence: Mapping[str, Seen], role: str | None = None) -> CheckFinding:
    check = PROOFS[name](ask(name, KNOBS[name], role or role_of(name), SIBLINGS))
    assert evidence.keys() == check.wants.keys()
    return check.judge(evidence)


def wants_of(name: str) -> Mapping[str, Any]:
    return PROOFS[name](ask(name, KNOBS[name], role_of(name), SIBLINGS)).wants


def alike() -> Seen:
    """A plain download with everything that proofs look at."""
    download = data(np.arange(0, 3, 0.002).tolist())
    acks = [(time_s + 0.001, True, 40) for time_s, _, _ in download[::2]]
    objects = [{"event": "object", "t_end_ns": number * 10**8} for number in range(40)]
    connection = [{"event": "connection", "gso": True, "used_0rtt": True}]
    parameters = Event("parameters_set", {"owner": "remote", "initial_max_data": 5, "max_ack_delay": 25})
    sent = packets(sorted(download + acks), lost=[300])
    return seen(sent, [*objects, *connection], connection, {"client": [parameters], "server": [parameters]})


@pytest.mark.parametrize("name", sorted(PROOFS))
def test_a_knob_that_does_nothing_fails(name: str) -> None:
    wants = wants_of(name)
    assert wants
    finding = judged(name, dict.fromkeys(wants, alike()))
    assert finding.status is CheckStatus.FAILED
    assert finding.seen


@pytest.mark.parametrize("name", sorted(PROOFS))
def test_a_trial_that_left_nothing_fails(name: str) -> None:
    assert judged(name, dict.fromkeys(wants_of(name), seen(**FAILED))).status is CheckStatus.FAILED


@pytest.mark.parametrize("name", sorted(PROOFS))
def test_only_the_knob_and_what_holds_others_apart_differs(name: str) -> None:
    wants = list(wants_of(name).values())
    settings = [knobs_of(want, role_of(name)) for want in wants]
    assert len({want.trial().id for want in wants}) == len(wants)
    assert all(replace(want, server=wants[0].server, client=wants[0].client) == wants[0] for want in wants)
    assert len({tuple(sorted((key, value) for key, value in each.items() if key != name)) for each in settings}) == 1


def test_players_differ_in_when_they_ask_for_the_first_segment() -> None:
    def asked(segment_ns: int) -> Seen:
        initial = {"event": "object", "path": "/video/tiny/init.mp4", "t_start_ns": 10, "t_end_ns": 20}
        return seen(packets([]), [initial, initial | {"path": "/video/tiny/000.m4s", "t_start_ns": segment_ns}])

    assert judged("player", {"shaka": asked(11), "dash.js": asked(21)}).status is CheckStatus.PASSED
    assert judged("player", {"shaka": asked(21), "dash.js": asked(11)}).status is CheckStatus.FAILED


def test_an_upload_is_answered_as_the_knob_says() -> None:
    line = {"event": "object", "path": "/upload.bin"}
    whole = seen(packets([]), [line | {"status": 200, "uploaded_bytes": 200_000}])
    refused, early = (
        seen(packets([]), [line | fields], **FAILED)
        for fields in ({"status": 413}, {"status": 200, "uploaded_bytes": 100_000})
    )
    reset = seen(packets([]), [line | {"status": None}], **FAILED)
    good = {"whole": whole, "refused": refused, "early": early, "reset": reset}
    assert judged("upload_answer", good).status is CheckStatus.PASSED
    assert judged("upload_answer", good | {"reset": whole}).status is CheckStatus.FAILED


PROXY = ("proxy",)  # the roles of knobs of proxies alone, which are proven by tests/e2e/test_proxies.py


def test_every_declared_knob_has_a_proof() -> None:
    # The knobs of a site are of the comparison, and no program obeys them.
    stacks: list[Stack] = [stack for stack in registry.load("stacks").values() if not stack.outside]
    declared = {(stack.name, name) for stack in stacks for name, knob in stack.knobs.items() if knob.roles != PROXY}
    assert {(stack, name) for stack, name in declared if name not in PROOFS} == set()


def test_what_a_role_cannot_show_is_not_applicable() -> None:
    for name in ("congestion_control", "initial_window", "pacing", "hystart", "packet_threshold"):
        check = PROOFS[name](ask(name, KNOBS[name], "client", SIBLINGS))
        assert not check.wants
        assert check.judge({}).status is CheckStatus.NOT_APPLICABLE


def offered(parameter: str, value: int) -> Seen:
    return seen(qlogs={"client": [Event("parameters_set", {"initiator": "remote", parameter: value})]})


def test_first_windows_are_read_in_the_peers_log() -> None:
    parameter = "initial_max_stream_data_bidi_remote"
    good = {"default": offered(parameter, 65_536), "set": offered(parameter, 300_007)}
    assert judged("initial_stream_window", good).status is CheckStatus.PASSED
    other = {"default": offered(parameter, 65_536), "set": offered(parameter, 300_000)}
    assert judged("initial_stream_window", other).status is CheckStatus.FAILED


def test_ack_delay_is_a_parameter_in_milliseconds() -> None:
    good = {"default": offered("max_ack_delay", 25), "set": offered("max_ack_delay", 47)}
    assert judged("max_ack_delay", good).status is CheckStatus.PASSED
    good = {"default": offered("max_idle_timeout", 30_000), "set": offered("max_idle_timeout", 47_000)}
    assert judged("idle_timeout", good).status is CheckStatus.PASSED


def in_round_trips(sizes: list[int], rtt_s: float, first_s: float = 0.0) -> list[float]:
    """Times of packets of which so many are sent at the beginning of each round trip."""
    return [first_s + turn * rtt_s + number * 1e-5 for turn, count in enumerate(sizes) for number in range(count)]


def test_largest_window_bounds_a_round_trip() -> None:
    bound, free = (packets(data(in_round_trips([count] * 20, 0.2))) for count in (950, 1_900))
    assert judged("max_stream_window", {"default": seen(free), "set": seen(bound)}).status is CheckStatus.PASSED
    assert judged("max_stream_window", {"default": seen(bound), "set": seen(bound)}).status is CheckStatus.FAILED
    assert judged("max_stream_window", {"default": seen(free), "set": seen(free)}).status is CheckStatus.FAILED


def test_a_receiver_that_keeps_few_packets_gets_more_of_them() -> None:
    few, many = (seen(packets(data(in_round_trips([count] * 20, 0.2)))) for count in (50, 70))
    assert judged("receive_queue", {"short": many, "long": few}).status is CheckStatus.PASSED
    assert judged("receive_queue", {"short": few, "long": few}).status is CheckStatus.FAILED


def images(took_s: float) -> Seen:
    return seen(client=[{"event": "object", "t_end_ns": round(end_s * 1e9)} for end_s in (0.0, took_s)])


def test_few_requests_at_once_cost_round_trips() -> None:
    assert judged("max_incoming_streams", {"default": images(0.4), "few": images(2.0)}).status is CheckStatus.PASSED
    assert judged("max_incoming_streams", {"default": images(1.5), "few": images(2.0)}).status is CheckStatus.FAILED


def after_loss(share: float, jitter_s: float = 0.0) -> Seen:
    """100 packets a round trip; the last of the lost ones leaves that share of the window."""
    sizes = [100] * 8 + [10] + [round(100 * share)] * 6
    return seen(packets(data((np.array(in_round_trips(sizes, RTT_S)) + jitter_s).tolist()), lost=[170, 600]))


def test_congestion_control_shows_in_what_a_loss_leaves() -> None:
    good = {"reno": after_loss(0.5), "cubic": after_loss(0.7), "bbr": after_loss(1.0)}
    finding = judged("congestion_control", good)
    assert finding.status is CheckStatus.PASSED
    assert "reno ×0.5" in finding.seen
    assert judged("congestion_control", {**good, "cubic": after_loss(0.5)}).status is CheckStatus.FAILED
    assert judged("congestion_control", {**good, "bbr": after_loss(0.7)}).status is CheckStatus.FAILED


def test_a_controller_that_forgives_loses_enough_for_its_cut_to_last() -> None:
    forgiving = knob(str, choices=("cubic", "reno"), lasting_loss={"cubic": 80})
    wants = PROOFS["congestion_control"](ask("congestion_control", forgiving, "server")).wants
    lost = {
        name: next(stage.parameters["indexes"] for stage in want.link.down if stage.kind == "loss_index")
        for name, want in wants.items()
    }
    assert lost == {"cubic": (*range(170, 250), *range(1000, 1080)), "reno": (170, 1000)}


def test_two_models_that_send_alike_are_one() -> None:
    both = knob(str, choices=("bbr", "bbr2"))
    check = PROOFS["congestion_control"](ask("congestion_control", both, "server"))
    same = {"bbr": after_loss(1.0), "bbr2": after_loss(1.0)}
    assert "send alike" in check.judge(same).seen
    assert check.judge({**same, "bbr2": after_loss(1.1)}).status is CheckStatus.PASSED


def test_first_flight_is_the_initial_window() -> None:
    flights = {name: seen(packets(data(in_round_trips([count, 2 * count], 0.4)))) for name, count in FLIGHTS.items()}
    assert judged("initial_window", flights).status is CheckStatus.PASSED
    assert judged("initial_window", {**flights, "more": flights["fewer"]}).status is CheckStatus.FAILED


FLIGHTS = {"fewer": 11, "more": 42}


def test_a_bound_of_the_window_shows_in_a_round_trip() -> None:
    bound, free = (seen(packets(data(in_round_trips([count] * 10, 0.4)))) for count in (50, 120))
    for name in ("max_window", "initial_ssthresh"):
        assert judged(name, {"bound": bound, "default": free}).status is CheckStatus.PASSED
        assert judged(name, {"bound": bound, "default": bound}).status is CheckStatus.FAILED
        assert judged(name, {"bound": free, "default": free}).status is CheckStatus.FAILED


def test_a_small_window_takes_more_round_trips_where_much_is_lost() -> None:
    small, large = (seen(packets(data(in_round_trips([1] * turns, 0.1)))) for turns in (60, 12))
    assert judged("min_window", {"small": small, "large": large}).status is CheckStatus.PASSED
    assert judged("min_window", {"small": large, "large": large}).status is CheckStatus.FAILED


def test_the_share_that_a_loss_leaves_is_the_one_that_is_set() -> None:
    good = {"0.5": after_loss(0.5), "0.9": after_loss(0.9)}
    assert judged("window_after_loss", good).status is CheckStatus.PASSED
    assert judged("window_after_loss", {**good, "0.9": after_loss(0.7)}).status is CheckStatus.FAILED


def after_outage(packets_left: int) -> Seen:
    """80 packets a round trip until ten round trips of losses; then a probe, and so many in each round trip."""
    sizes = [80] * 4 + [1] * 10 + [1] + [packets_left] * 4
    return seen(packets(data(in_round_trips(sizes, RTT_S)), lost=range(320, 330)))


def test_an_outage_that_counts_as_congestion_leaves_the_smallest_window() -> None:
    good = {"soon": after_outage(2), "late": after_outage(60)}
    assert judged("persistent_congestion_threshold", good).status is CheckStatus.PASSED
    assert judged("persistent_congestion_threshold", {**good, "soon": good["late"]}).status is CheckStatus.FAILED


def test_a_send_buffer_bounds_a_round_trip() -> None:
    bound, free = (seen(packets(data(in_round_trips([count] * 20, 0.2)))) for count in (160, 1_000))
    assert judged("send_buffer", {"default": free, "set": bound}).status is CheckStatus.PASSED
    assert judged("send_buffer", {"default": free, "set": free}).status is CheckStatus.FAILED


def test_the_highest_rate_of_pacing_bounds_half_a_second() -> None:
    slow, free = (seen(packets(data(np.arange(0, 3, gap_s).tolist()))) for gap_s in (0.002, 0.0005))
    assert judged("max_pacing_rate", {"slow": slow, "default": free}).status is CheckStatus.PASSED
    assert judged("max_pacing_rate", {"slow": slow, "default": slow}).status is CheckStatus.FAILED
    assert judged("max_pacing_rate", {"slow": free, "default": free}).status is CheckStatus.FAILED


def test_a_later_probe_is_a_longer_timeout() -> None:
    short, long = (seen(packets(data([0.0, again_s]))) for again_s in (0.05, 0.8))
    assert judged("pto_factor", {"short": short, "long": long}).status is CheckStatus.PASSED
    assert judged("pto_factor", {"short": long, "long": long}).status is CheckStatus.FAILED


def late(again: int) -> Seen:
    """20 of 1000 packets come late, and so many are sent a second time."""
    made = packets(data(np.arange(0, 1, 0.001).tolist() + [1.1 + number * 1e-3 for number in range(again)]))
    left_s = made.left_s.copy()
    left_s[10:1000:50] += 0.01
    return seen(replace(made, left_s=left_s))


@pytest.mark.parametrize("name", ["packet_threshold", "time_threshold"])
def test_thresholds_decide_what_is_sent_twice(name: str) -> None:
    assert judged(name, {"strict": late(20), "patient": late(0)}).status is CheckStatus.PASSED
    assert judged(name, {"strict": late(3), "patient": late(0)}).status is CheckStatus.FAILED


def test_time_threshold_needs_the_other_out_of_the_way() -> None:
    check = PROOFS["time_threshold"](ask("time_threshold", KNOBS["time_threshold"], "server"))
    assert check.judge({}).status is CheckStatus.FAILED


def test_pacing_spreads_a_window() -> None:
    at_once = seen(packets(data(in_round_trips([10, 20, 40, 80], RTT_S))))
    spread = seen(packets(data(np.arange(0, 0.4, 0.003).tolist())))
    assert judged("pacing", {"on": spread, "off": at_once}).status is CheckStatus.PASSED
    assert judged("pacing", {"on": at_once, "off": spread}).status is CheckStatus.FAILED


def in_trains(length: int) -> Seen:
    return seen(packets(data([0.01 * (number // length) + 1e-5 * (number % length) for number in range(72)])))


def test_a_burst_is_as_long_as_the_pace_allows() -> None:
    assert judged("pacing_burst", {"short": in_trains(2), "long": in_trains(24)}).status is CheckStatus.PASSED
    assert judged("pacing_burst", {"short": in_trains(10), "long": in_trains(10)}).status is CheckStatus.FAILED


def filled(queue_bytes: int, lost: int) -> Seen:
    made = packets(data([0.0, 0.1]), queue_bytes=np.array([0, queue_bytes]))
    return seen(made, link={"down": {"dropped_queue": lost}})


def test_hystart_leaves_a_deep_queue_in_time() -> None:
    assert judged("hystart", {"on": filled(200_000, 0), "off": filled(600_000, 90)}).status is CheckStatus.PASSED
    assert judged("hystart", {"on": filled(600_000, 80), "off": filled(600_000, 90)}).status is CheckStatus.FAILED


def acknowledged(every: int) -> Seen:
    download = data(np.arange(0, 2, 0.002).tolist())
    return seen(packets(sorted(download + [(time_s + 0.001, True, 40) for time_s, _, _ in download[::every]])))


def test_ack_threshold_is_counted() -> None:
    for name in ("ack_threshold", "requested_ack_threshold", "requested_max_ack_delay"):
        assert judged(name, {"few": acknowledged(2), "many": acknowledged(20)}).status is CheckStatus.PASSED
        assert judged(name, {"few": acknowledged(2), "many": acknowledged(3)}).status is CheckStatus.FAILED


def sized(size_bytes: int, ecn: int = 0) -> Seen:
    made: RouterPackets = packets(data([0.0, 0.1], size_bytes), ecn=np.array([ecn, ecn]))
    return seen(made)


def test_largest_datagram() -> None:
    for name in ("max_udp_payload", "initial_packet_size"):
        assert judged(name, {"default": sized(1_200), "set": sized(1_331)}).status is CheckStatus.PASSED
        assert judged(name, {"default": sized(1_200), "set": sized(1_330)}).status is CheckStatus.FAILED
    assert judged("disable_pmtud", {"off": sized(1_452), "on": sized(1_200)}).status is CheckStatus.PASSED
    assert judged("disable_pmtud", {"off": sized(1_200), "on": sized(1_452)}).status is CheckStatus.FAILED


def test_marks_on_the_wire() -> None:
    assert judged("ecn", {"on": sized(1_200, 2), "off": sized(1_200)}).status is CheckStatus.PASSED
    assert judged("ecn", {"on": sized(1_200, 2), "off": sized(1_200, 2)}).status is CheckStatus.FAILED


def periodic(on_s: float, off_s: float, number: int = 20, spread: float = 0.0) -> Seen:
    """Packets every 2.5 ms in periods, whose lengths are drawn where `spread` is 1."""
    random = np.random.default_rng(1)
    lengths_s = [mean_s * (1 + spread * (random.exponential() - 1)) for mean_s in (on_s, off_s) * number]
    ends_s = np.cumsum(lengths_s)
    begins_s = np.concatenate([[0.0], ends_s[1:-1:2]])
    return seen(
        packets(data(np.concatenate([np.arange(*span, 0.0025) for span in zip(begins_s, ends_s[::2], strict=True)])))
    )


def test_bare_datagrams_have_their_rate_and_size() -> None:
    rates = {f"{bps:g}": seen(packets(data(np.arange(0, 3, 1_228 * 8 / bps).tolist()))) for bps in (1e6, 8e6)}
    assert judged("rate", rates).status is CheckStatus.PASSED
    assert judged("rate", dict.fromkeys(rates, rates["1e+06"])).status is CheckStatus.FAILED
    sizes = {"400": sized(400), "1400": sized(1_400)}
    assert judged("packet_size", sizes).status is CheckStatus.PASSED
    mixed = seen(packets([*data([0.0], 400), *data([0.1], 401)]))
    assert judged("packet_size", {**sizes, "400": mixed}).status is CheckStatus.FAILED


def test_periods_of_bare_datagrams_have_their_lengths_and_law() -> None:
    for name, lengths in (("on", ((0.5, 1.0), (2.0, 1.0))), ("off", ((1.0, 0.5), (1.0, 2.0)))):
        good = dict(zip(("0.5", "2"), (periodic(*each) for each in lengths), strict=True))
        assert judged(name, good).status is CheckStatus.PASSED
        assert judged(name, {**good, "2": periodic(1.0, 1.0)}).status is CheckStatus.FAILED
    fixed, drawn = periodic(0.4, 0.4, 120), periodic(0.4, 0.4, 120, spread=1.0)
    assert judged("law", {"fixed": fixed, "exponential": drawn}).status is CheckStatus.PASSED
    assert judged("law", {"fixed": drawn, "exponential": fixed}).status is CheckStatus.FAILED
    assert judged("law", {"fixed": fixed, "exponential": fixed}).status is CheckStatus.FAILED


def reported(**keys: bool) -> Seen:
    line = {"event": "connection", "primes": False, **keys}
    return seen(client=[{**line, "primes": True, "used_0rtt": False}, line], server=[line])


def test_what_programs_tell() -> None:
    assert judged("gso", {"on": reported(gso=True), "off": reported(gso=False)}).status is CheckStatus.PASSED
    assert judged("gso", {"on": reported(), "off": reported(gso=False)}).status is CheckStatus.FAILED
    good = {"on": reported(used_0rtt=True), "off": reported(used_0rtt=False)}
    assert judged("allow_0rtt", good).status is CheckStatus.PASSED
    assert judged("allow_0rtt", {**good, "on": reported(used_0rtt=False)}).status is CheckStatus.FAILED


def shaken(took_ms: float) -> Seen:
    line = {"event": "connection", "primes": False, "t_start_ns": 5, "t_handshake_ns": 5 + round(took_ms * 1e6)}
    return seen(client=[line])


def fallen_back(after_s: float) -> Seen:
    requested = {"event": "object", "t_start_ns": 10**9}
    began = {"event": "connection", "protocol": "h2", "t_start_ns": 10**9 + round(after_s * 1e9)}
    return seen(client=[requested, began])


@pytest.mark.parametrize("name", ["fallback_delay", "stall_timeout"])
def test_tcp_is_begun_after_the_time_that_was_set(name: str) -> None:
    assert judged(name, {"short": fallen_back(0.2), "long": fallen_back(1.1)}).status is CheckStatus.PASSED
    assert judged(name, {"short": fallen_back(0.2), "long": fallen_back(0.9)}).status is CheckStatus.FAILED
    assert judged(name, {"short": fallen_back(0.5), "long": fallen_back(1.1)}).status is CheckStatus.FAILED
    assert judged(name, {"short": fallen_back(0.2), "long": seen(**FAILED)}).status is CheckStatus.FAILED


def test_a_retry_costs_a_round_trip() -> None:
    assert judged("retry", {"on": shaken(205.0), "off": shaken(104.0)}).status is CheckStatus.PASSED
    assert judged("retry", {"on": shaken(105.0), "off": shaken(104.0)}).status is CheckStatus.FAILED
    assert judged("retry", {"on": shaken(404.0), "off": shaken(104.0)}).status is CheckStatus.FAILED


def again(after_s: float) -> Seen:
    return seen(packets(data([0.0, 0.0001, after_s, after_s * 3])), **FAILED)


def test_an_end_that_keeps_its_connection_is_never_silent_for_long() -> None:
    kept, silent = (seen(packets(data(times))) for times in ([0, 0.1, 2.1, 4.1, 6.1, 8.1, 10.1, 12.1], [0, 0.1, 12.1]))
    assert judged("keep_alive", {"on": kept, "off": silent}).status is CheckStatus.PASSED
    assert judged("keep_alive", {"on": silent, "off": silent}).status is CheckStatus.FAILED
    assert judged("keep_alive", {"on": kept, "off": kept}).status is CheckStatus.FAILED


def test_the_time_for_a_handshake_decides_over_a_far_path() -> None:
    arrived, gave_up = alike(), seen(**FAILED)
    assert judged("handshake_timeout", {"on": arrived, "off": gave_up}).status is CheckStatus.PASSED
    assert judged("handshake_timeout", {"on": gave_up, "off": gave_up}).status is CheckStatus.FAILED
    assert judged("handshake_timeout", {"on": arrived, "off": arrived}).status is CheckStatus.FAILED
    wants = wants_of("handshake_timeout")
    assert not wants["off"].server.knobs
    assert wants["off"].client.knobs == wants["on"].client.knobs == wants["on"].server.knobs


def test_assumed_round_trip_sets_the_first_timer() -> None:
    assert judged("initial_rtt", {"short": again(0.09), "long": again(1.0)}).status is CheckStatus.PASSED
    assert judged("initial_rtt", {"short": again(0.3), "long": again(1.0)}).status is CheckStatus.FAILED
    assert judged("initial_rtt", {"short": again(0.09), "long": again(0.1)}).status is CheckStatus.FAILED
