"""Settings of the network become stages: each does what it says, in its place, and nothing at its default."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.core import codec, units
from longlook.core.model import Link, Scalar, Stage
from longlook.core.problems import SettingError
from longlook.network import settings as network
from longlook.study.settings import network_setting

BASE: dict[str, Scalar] = {"network.rate": "10Mbit", "network.rtt": "36ms"}
MS = 1_000_000

FULL: dict[str, Scalar] = {
    **BASE,
    "network.rebind_at": "5s, repeat 10s",
    "network.nat_timeout": "30s",
    "network.access_delay": "packet",
    "network.block": "icmp",
    "network.udp_rate": "1Mbit",
    "network.udp_cutoff": 100,
    "network.drop_larger": "udp 1400B",
    "network.mtu": "1400B",
    "network.surgery.up": "hold 3 1ms",
    "network.surgery.down": "forgive 12; drop 30-32",
    "network.loss": "1%",
    "network.duplicate": "1%",
    "network.corrupt": "1%",
    "network.aqm": "codel",
    "network.jitter": "2ms",
    "network.reorder": "1%",
}


def canonical(settings: Mapping[str, Any]) -> dict[str, Scalar]:
    return {key: network_setting(key, value) for key, value in settings.items()}


def link(**settings: Any) -> Link:
    return network.link(canonical({**BASE, **{f"network.{key}": value for key, value in settings.items()}}))


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without asking the router: what the settings mean, not what a certain router can do."""
    monkeypatch.setattr(network, "violation_of", lambda _link: None)


def stage(kind: str, **settings: Any) -> Mapping[str, Any]:
    return next(stage.parameters for stage in link(**settings).down if stage.kind == kind)


def test_the_plainest_link_has_a_rate_and_a_delay() -> None:
    down = (Stage("rate", {"rate_bps": 10_000_000, "queue_bytes": 45_000}), Stage("delay", {"delay_ns": 18 * MS}))
    assert link() == Link(down, down)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *[("aqm", "droptail"), ("ecn", False), ("burst", "0B"), ("loss", "0%"), ("loss", "burst(0%, 5)")],
        *[("jitter", "0ms"), ("jitter_reorders", True), ("reorder", "0%"), ("duplicate", "0%"), ("corrupt", 0)],
        *[("mtu", "off"), ("block", "off"), ("udp_rate", "off"), ("udp_cutoff", "off"), ("drop_larger", "off")],
        *[("rebind_at", "off"), ("access_delay", "off"), ("queue", "1bdp"), ("rate", "steps(0s 10Mbit, 5s 10Mbit)")],
        *[("rate", "uniform(10Mbit, 10Mbit, 1s)"), ("rtt", "walk(36ms, 0s, 30ms, 40ms, 1s)")],
    ],
)
def test_a_setting_that_does_nothing_adds_nothing(key: str, value: object) -> None:
    assert link(**{key: value}) == link()


@pytest.mark.usefixtures("unchecked")
def test_the_order_of_stages() -> None:
    made = network.link(canonical(FULL))
    down = ["access", "block", "police", "cutoff", "size_filter", "mtu", "surgery", "loss", "duplicate"]
    down += ["corrupt", "codel", "delay", "jitter", "reorder"]
    assert [stage.kind for stage in made.down] == down
    assert [stage.kind for stage in made.up] == ["nat", "nat_timeout", *down]


@pytest.mark.parametrize(
    ("kind", "settings", "expected"),
    [
        ("block", {"block": "udp"}, {"protocol": "udp"}),
        ("police", {"udp_rate": "8Mbit"}, {"protocol": "udp", "rate_bps": 8_000_000, "burst_bytes": 100_000}),
        ("police", {"udp_rate": "80kbit"}, {"protocol": "udp", "rate_bps": 80_000, "burst_bytes": 15_000}),
        ("police", {"udp_rate": "8Mbit", "udp_burst": "3KB"}, {"burst_bytes": 3000}),
        ("cutoff", {"udp_cutoff": 20}, {"protocol": "udp", "packets": 20}),
        ("size_filter", {"drop_larger": "1400B"}, {"protocol": "any", "minimum_bytes": 1401}),
        ("size_filter", {"drop_larger": "udp 1350 B"}, {"protocol": "udp", "minimum_bytes": 1351}),
        ("mtu", {"mtu": "1400B"}, {"mtu_bytes": 1400, "icmp": True}),
        ("mtu", {"mtu": "1400B", "mtu_icmp": False}, {"mtu_bytes": 1400, "icmp": False}),
        ("mtu", {"mtu": "1400B", "mtu_claimed": "576B"}, {"mtu_bytes": 1400, "icmp": True, "claimed_bytes": 576}),
        ("mtu", {"mtu": "1400B", "mtu_claimed": "off"}, {"mtu_bytes": 1400, "icmp": True}),
        ("gilbert_elliott", {"loss": "gilbert_elliott(1%, 25%)"}, {"good_to_bad": 0.01, "bad_to_good": 0.25}),
        ("gilbert_elliott", {"loss": "gilbert_elliott(1%, 25%, 0.1%, 50%)"}, {"loss_good": 0.001, "loss_bad": 0.5}),
        ("burst_loss", {"loss": "burst(0.1%, 5)"}, {"probability": 0.001, "packets": 5}),
        ("loss_index", {"loss": "index(7, 3, 7)"}, {"indexes": (3, 7)}),
        ("duplicate", {"duplicate": "1%"}, {"probability": 0.01}),
        ("corrupt", {"corrupt": "1%"}, {"probability": 0.01}),
        ("reorder", {"reorder": "1%"}, {"probability": 0.01, "depth_packets": 3, "wait_ns": 36 * MS}),
        ("reorder", {"reorder": "1%", "reorder_depth": 30, "reorder_wait": "5ms"}, {"depth_packets": 30}),
        ("jitter", {"jitter": "5ms", "jitter_law": "pareto", "jitter_correlation": "25%"}, {"correlation": 0.25}),
        ("reorder", {"reorder": "3%", "reorder_above": "1440B"}, {"probability": 0.03, "above_bytes": 1440}),
        ("jitter", {"jitter": "5ms", "jitter_above": "1440B"}, {"jitter_ns": 5 * MS, "above_bytes": 1440}),
        ("loss", {"loss": "1%", "loss_above": "1440B"}, {"probability": 0.01, "above_bytes": 1440}),
        ("rate", {"queue": "100packets"}, {"rate_bps": 10_000_000, "queue_packets": 100}),
        ("rate", {"burst": "10KB"}, {"burst_bytes": 10_000}),
        ("codel", {"aqm": "codel"}, {"rate_bps": 10_000_000}),
        ("codel", {"aqm": "codel", "ecn": True}, {"ecn": True}),
        ("fq_codel", {"aqm": "fq_codel", "queue": "1bdp"}, {"queue_bytes": 45_000, "queue_packets": 2**32 - 1}),
        ("red", {"aqm": "red"}, {"queue_bytes": 45_000, "minimum_bytes": 7500, "maximum_bytes": 22_500}),
        ("red", {"aqm": "red", "queue": "60packets"}, {"queue_bytes": 90_000, "gentle": True, "weight": 0.002}),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_a_setting_makes_its_stage(kind: str, settings: dict[str, Any], expected: dict[str, Any]) -> None:
    made = stage(kind, **settings)
    assert {key: made[key] for key in expected} == expected


@pytest.mark.parametrize("name", [key for key in FULL if key not in BASE] + ["network.loss.law"])
def test_the_router_takes_what_settings_make(name: str) -> None:
    laws = ["gilbert_elliott(1%, 25%)", "burst(1%, 2)", "index(1)"]
    values = laws if name == "network.loss.law" else [FULL[name]]
    for value in values:
        network.link(canonical({**BASE, name.removesuffix(".law"): value}))


@pytest.mark.usefixtures("unchecked")
def test_the_client_s_nat_is_in_one_direction() -> None:
    made = link(rebind_at="5s,repeat 10 s")
    assert made.up[0] == Stage("nat", {"rebind_ns": 5_000 * MS, "repeat_ns": 10_000 * MS})
    assert [stage.kind for stage in made.down] == ["rate", "delay"]
    assert link(rebind_at="5s").up[0].parameters == {"rebind_ns": 5_000 * MS}
    both = link(rebind_at="5s", nat_timeout="30 s")
    assert both.up[1] == Stage("nat_timeout", {"timeout_ns": 30_000 * MS})
    assert [stage.kind for stage in both.down] == ["rate", "delay"]


def test_values_that_vary() -> None:
    made = link(rate="uniform(50Mbit, 150Mbit, 1s)")
    rate = {"uniform": {"minimum": 50_000_000, "maximum": 150_000_000, "every_ns": 1_000 * MS}}
    assert made.down[0].parameters == {"rate_bps": rate, "queue_bytes": 450_000}  # of the mean rate
    rate = {"steps": ((0, 10_000_000), (5_000 * MS, 2_000_000)), "repeat_ns": 10_000 * MS}
    made = link(rate="steps(0s 10Mbit, 5s 2Mbit, repeat 10s)", access_delay="packet")
    assert made.down[0] == Stage("access", {"max_ns": 2 * MS})
    assert made.down[1].parameters == {"rate_bps": rate, "queue_bytes": 27_000}
    once = link(rate="steps(0s 10Mbit, 5s 2Mbit)")
    assert once.down[0].parameters["queue_bytes"] == 45_000  # until the step that never ends
    walk = {"start": 0.0, "step": 0.01, "minimum": 0.0, "maximum": 0.02, "every_ns": 1_000 * MS}
    assert link(loss="walk(0%, 1%, 0%, 2%, 1s)").down[0] == Stage("loss", {"probability": {"walk": walk}})
    assert link(queue="steps(0s 30KB, 1s 15KB)").down[0].parameters["queue_bytes"]["steps"][1][1] == 15_000


def test_each_direction_has_half_of_an_rtt_that_varies() -> None:
    made = link(rtt="uniform(21ns, 41ns, 1s)")
    up, down = (stages[-1].parameters["delay_ns"]["uniform"] for stages in (made.up, made.down))
    assert (up["minimum"], down["minimum"], up["maximum"], down["maximum"]) == (11, 10, 21, 20)
    steps = link(rtt="steps(0s 20ms, 1s 40ms, repeat 2s)")
    assert steps.up[-1].parameters["delay_ns"]["steps"] == ((0, 10 * MS), (1_000 * MS, 20 * MS))
    assert steps.down[0].parameters["queue_bytes"] == 37_500  # 10 Mbit/s at a mean RTT of 30 ms


def test_a_link_survives_its_file() -> None:
    made = link(rate="steps(0s 10Mbit, 5s 2Mbit)", loss="uniform(0%, 1%, 1s)")
    assert codec.decode(Link, codec.encode(made)) == made
    assert codec.content_hash(codec.decode(Link, codec.encode(made))) == codec.content_hash(made)


@pytest.mark.parametrize(
    ("key", "one", "other"),
    [
        ("rate", "uniform( 50 Mbit/s,150mbit , 1000ms)", "uniform(50Mbit, 150Mbit, 1s)"),
        ("rate", "steps(0s 10Mbps, 5000ms 2Mbit, 6s 2Mbit, repeat 10s)", "steps(0s 10Mbit, 5s 2Mbit, repeat 10s)"),
        ("rate", "steps(0ms 0.01Gbit, repeat 3s)", "10Mbit"),
        ("rtt", "walk(36ms, 0ms, 1ms, 40ms, 1s)", "36ms"),
        ("queue", "100 packets", "100packets"),
        ("queue", "1packet", "1packets"),
        ("loss", "gilbert_elliott(0.01, 25%, 0%, 100%)", "gilbert_elliott(1%, 25%)"),
        ("loss", "gilbert_elliott(1%, 25%, 2%, 2%)", "2%"),
        ("loss", "gilbert_elliott(0%, 25%, 2%)", "2%"),
        ("loss", "burst(1%, 1)", "1%"),
        ("loss", "index(7,3 ,7)", "index(3, 7)"),
        ("udp_cutoff", "20 packets", 20),
        ("drop_larger", "any 1.4KB", "1400B"),
        ("rebind_at", "5000ms", "5s"),
        ("jitter_correlation", 0.25, "25%"),
    ],
)
def test_two_spellings_of_a_condition_are_one(key: str, one: object, other: object) -> None:
    key = f"network.{key}"
    assert network_setting(key, one) == network_setting(key, other)
    text = network_setting(key, one)
    assert network_setting(key, text) == text


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("rate", "unifrom(1Mbit, 2Mbit, 1s)", "did you mean 'uniform'?"),
        ("rate", "uniform(1Mbit, 2Mbit)", "takes 3 values, here 2: uniform(MINIMUM, MAXIMUM, EVERY)"),
        ("rate", "uniform(2Mbit, 1Mbit, 1s)", "minimum, 2Mbit, above its maximum, 1Mbit"),
        ("rate", "uniform(0bit, 0bit, 1s)", "nothing would ever pass"),
        ("rate", "uniform(1Mbit, 2Mbit, 0s)", "every 0s"),
        ("rate", "walk(20Mbit, 1Mbit, 5Mbit, 15Mbit, 1s)", "starts at 20Mbit"),
        ("rate", "walk(10Mbit, 11Mbit, 5Mbit, 15Mbit, 1s)", "steps of up to 11Mbit"),
        ("rate", "steps(0s 10Mbit, 5s 2Mbit, 3s 1Mbit)", "runs backwards: 3s comes after 5s"),
        ("rate", "steps(1s 10Mbit)", "first step must be at 0s"),
        ("rate", "steps(0s 10Mbit, 5s 2Mbit, repeat 5s)", "later than its last step, at 5s"),
        ("rate", "steps(0s 10Mbit, 5s 0bit)", "nothing would ever pass again"),
        ("rate", "steps()", "not a step"),
        ("rate", "0bit", "above zero"),
        ("rate", "fast", "or a form of values that vary: uniform, walk, steps, trace"),
        ("rtt", "trace(x.csv)", "unknown form trace(…); allowed: uniform, walk, steps"),
        ("queue", "0.5packets", "not a whole number of packets"),
        ("aqm", "codle", "allowed: droptail, codel, fq_codel, red, dualpi2, step; did you mean 'codel'?"),
        ("ecn", "yes", "write true or false"),
        ("loss", "gilbert(1%)", "allowed: uniform, walk, steps, trace, gilbert_elliott, burst, index"),
        ("loss", "gilbert_elliott(1%)", "takes 2 to 4 shares"),
        ("loss", "gilbert_elliott(1%, 0%)", "it would never leave the bad state"),
        ("loss", "burst(1%, 0)", "a whole number from 1 to"),
        ("loss", "index(-1)", "a whole number from 0 to"),
        ("loss", "index()", "names no packet"),
        ("jitter_correlation", "100%", "less than 100%"),
        ("jitter_law", "gauss", "allowed: uniform, normal, pareto"),
        ("reorder_depth", 0, "from 1 to"),
        ("block", "upd", "did you mean 'udp'?"),
        ("udp_cutoff", "many", 'a number of packets, from 1 to 1000000; or "off"'),
        ("drop_larger", "sctp 1400B", "a protocol (udp, tcp, icmp, any) may stand before it"),
        ("rebind_at", "5s, 10s", "repeat 10s"),
        ("rebind_at", "5s, repeat 0s", "never end"),
        ("preset", "wolsing2019-dls", "did you mean 'wolsing2019-dsl'?"),
        ("qeue", "1bdp", "did you mean 'network.queue'?"),
    ],
)
def test_an_error_names_what_is_allowed(key: str, value: object, reason: str) -> None:
    with pytest.raises(SettingError) as caught:
        network_setting(f"network.{key}", value)
    assert reason in caught.value.message
    assert caught.value.key == f"network.{key}"


@pytest.mark.parametrize(
    ("settings", "key", "reason"),
    [
        ({"reorder_depth": 3}, "reorder_depth", "no effect without network.reorder"),
        ({"up.reorder_wait": "3ms", "down.reorder": "1%"}, "up.reorder_wait", "without network.up.reorder"),
        ({"jitter_correlation": "25%"}, "jitter_correlation", "no effect without network.jitter"),
        ({"reorder_above": "1440B"}, "reorder_above", "no effect without network.reorder"),
        ({"loss": "burst(1%, 3)", "loss_above": "1440B"}, "loss_above", "needs losses that are independent"),
        ({"jitter_law": "normal"}, "jitter_law", "no effect without network.jitter"),
        ({"mtu_icmp": True}, "mtu_icmp", 'no effect without network.mtu: write for example network.mtu = "1400B"'),
        ({"mtu_claimed": "576B"}, "mtu_claimed", "no effect without network.mtu"),
        ({"mtu": "1400B", "mtu_icmp": False, "mtu_claimed": "576B"}, "mtu_claimed", "sends no message"),
        ({"mtu": "1400B", "mtu_claimed": "70KB"}, "mtu_claimed", "must be a whole number from 0 to 65535"),
        ({"udp_burst": "3KB"}, "udp_burst", "no effect without network.udp_rate"),
        ({"up.delay": "5ms", "down.delay": "5ms"}, "rtt", "no effect beside network.up.delay and network.down.delay"),
        ({"ecn": True}, "ecn", "a drop-tail queue never marks"),
        ({"down.ecn": True, "up.aqm": "codel"}, "down.ecn", "a drop-tail queue never marks"),
        ({"block": "udp", "udp_rate": "1Mbit"}, "udp_rate", 'network.block = "udp" lets no UDP pass anyway'),
        ({"jitter": "20ms"}, "jitter", "only 18ms"),
        ({"jitter": "uniform(1ms, 20ms, 1s)"}, "jitter", "only 18ms"),
        ({"queue": "1KB"}, "queue", "the smallest queue is 1500B"),
        ({"queue": "0packets"}, "queue", "a queue of no packets"),
        ({"queue": "uniform(1KB, 30KB, 1s)"}, "queue", "the smallest queue is 1500B"),
        ({"queue": "steps(0s 30KB, 1s 15KB)", "aqm": "codel"}, "queue", "varies, which codel cannot"),
        ({"queue": "8KB", "aqm": "red"}, "queue", "allowed: from 9KB"),
    ],
)
def test_settings_that_contradict_each_other(settings: dict[str, Any], key: str, reason: str) -> None:
    with pytest.raises(SettingError) as caught:
        link(**settings)
    assert caught.value.key == f"network.{key}"
    assert reason in caught.value.message


@pytest.mark.usefixtures("unchecked")
def test_what_is_off_may_keep_its_details() -> None:
    """Levels of a factor switch it on and off; the details stand once."""
    assert link(reorder="0%", reorder_depth=5, mtu="off", mtu_icmp=False) == link()
    assert link(loss="burst(1%, 3)", loss_above="off") == link(loss="burst(1%, 3)")
    assert link(**{"down.reorder": "1%", "reorder_depth": 5}).down[-1].parameters["depth_packets"] == 5


@pytest.mark.parametrize(
    ("settings", "key", "reason"),
    [
        ({"rate": "10bit"}, "rate", "up, stage 0 (rate): key `rate_bps` is 10: it must be a whole number from 1000 to"),
        (
            {"down.rate": "uniform(10bit, 1Mbit, 1s)"},
            "down.rate",
            "down, stage 0 (rate): key `rate_bps`: `minimum` of `uniform` is 10",
        ),
        (
            {"rate": "uniform(1Mbit, 2Mbit, 10us)"},
            "rate",
            "key `rate_bps`: `every_ns` of `uniform` is 10000: it must be from 1000000",
        ),
        (
            {"rtt": "10800s", "queue": "30KB"},
            "rtt",
            "key `delay_ns` is 5400000000000: it must be a whole number from 0 to 3600000000000 ns",
        ),
        ({"down.delay": "10800s", "queue": "30KB"}, "down.delay", "down, stage 1 (delay): key `delay_ns` is"),
        ({"rate": "10Gbit", "rtt": "10800s"}, "queue", "key `queue_bytes` is 13500000000000"),
        ({"burst": "5GB"}, "burst", "key `burst_bytes` is 5000000000: it must be"),
    ],
)
def test_the_router_s_own_bounds_show_before_it_runs(settings: dict[str, Any], key: str, reason: str) -> None:
    with pytest.raises(SettingError) as caught:
        link(**settings)
    assert caught.value.key == f"network.{key}"
    assert reason in caught.value.message


TEXTS = st.one_of(
    st.text(max_size=12),
    st.builds(
        lambda name, parts: f"{name}({', '.join(parts)})",
        st.sampled_from(["uniform", "walk", "steps", "gilbert_elliott", "burst", "index", "x", ""]),
        st.lists(
            st.one_of(
                st.sampled_from(
                    ["0s", "1s", "repeat 2s", "0s 10Mbit", "1s 1%", "repeat", "²s", "１s", "-1s", ".s", "0%"]
                ),
                st.sampled_from(
                    ["10Mbit", "1%", "3", "0bit", "36ms", "1e9s", "30KB", "1/3%", "0.0000000001s", "9" * 30]
                ),
                st.text(max_size=4),
            ),
            max_size=5,
        ),
    ),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
    st.just([]),
)


@settings(max_examples=600)
@given(st.sampled_from(sorted(network.SETTINGS)), TEXTS)
def test_whatever_a_setting_holds_has_one_spelling_or_an_error(key: str, value: object) -> None:
    try:
        text = network_setting(key, value)
    except SettingError as error:
        assert error.message
        return
    assert network_setting(key, text) == text
    with suppress(SettingError):
        network.link({**BASE, key: text})


def test_a_trace_of_opportunities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cell.trace").write_text("0\n1\n1\n4\n")
    made = link(rate=f"trace({tmp_path / 'cell.trace'})")
    rate = made.down[0].parameters["rate_bps"]
    assert rate.keys() == {"trace"}
    assert made.down[0].parameters["queue_bytes"] == 54_000  # 4 × 1500 bytes in 4 ms are 12 Mbit/s
    text = network_setting("network.rate", f"trace({tmp_path / 'cell.trace'})")
    assert text == f"trace({rate['trace']})"
    with pytest.raises(units.UnitError, match=r"cannot be read: No such file"):
        network.SETTINGS["network.rate"](f"trace({tmp_path / 'none'})")
