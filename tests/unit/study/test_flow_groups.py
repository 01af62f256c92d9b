"""Flows that compete: what a study file may say of them, and what a plan makes of it."""

from pathlib import Path

import pytest

from longlook.core.errors import InputError
from longlook.core.flows import content_parameters, phases_of
from longlook.core.model import Plan, Trial
from longlook.study.catalogue import installed
from longlook.study.files import read_study
from longlook.study.flow_groups import Size, _drawn_bytes, draw, groups_of
from longlook.study.plan import make_plan

STUDY = """
schema = 1
title = "Flows"
question = "Who gets what?"
rounds = 3
seed = 7
timeout = "60s"
metrics = ["share_of_used"]

[arms.quic]
flows.subject = { protocol = "h3" }
flows.tcp = { protocol = "h2" }

[arms.tcp]
flows.subject = { protocol = "h2" }
flows.tcp = { protocol = "h2" }

[defaults]
connection = "cold"
congestion_control = "cubic"
server = "quic-go"
client = "quic-go"

[workload]
kind = "compete"
duration = "20s"

[network]
rate = "5Mbit"
rtt = "36ms"
queue = "30KB"

[[factors]]
name = "against"
sets = "flows.tcp.count"
levels = [0, 1, 4]

[[contrasts]]
name = "share"
baseline = "tcp"
contender = "quic"
metric = "share_of_used"
"""


def plan_of(folder: Path, *changes: tuple[str, str], around: str = "none") -> Plan:
    text = STUDY
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    path = folder / "flows.toml"
    path.write_text(text)
    return make_plan(read_study(path, around=around))


def trials(plan: Plan, arm: str, against: str) -> list[Trial]:
    return [trial for trial in plan.trials if trial.arm == arm and trial.cell["against"] == against]


def test_an_arm_has_its_groups_in_its_order_each_with_its_count(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    (four, *_) = trials(plan, "quic", "4")
    assert [flow.name for flow in four.flows] == ["subject", "tcp-1", "tcp-2", "tcp-3", "tcp-4"]
    assert [flow.address_slot for flow in four.flows] == [0, 1, 2, 3, 4]
    assert [flow.protocol for flow in four.flows] == ["h3", *["h2"] * 4]
    assert [flow.congestion_control for flow in four.flows] == [None, *["cubic"] * 4]
    assert four.protocol == "h3" and four.congestion_control is None  # the subject's
    (alone, *_) = trials(plan, "tcp", "0")
    assert [flow.name for flow in alone.flows] == ["subject"]


def test_starts_are_drawn_for_each_round_and_alike_for_all_arms(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    starts = {
        arm: [[flow.start_s for flow in trial.flows] for trial in trials(plan, arm, "4")] for arm in ("quic", "tcp")
    }
    assert starts["quic"] == starts["tcp"]
    assert all(0 <= start < 1 for flows in starts["quic"] for start in flows)
    orders = {tuple(sorted(range(5), key=lambda place: flows[place])) for flows in starts["quic"]}
    assert len(orders) > 1


def test_starts_may_be_fixed(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        ('duration = "20s"', 'duration = "20s"\nstart = "0s"'),
        ('flows.tcp = { protocol = "h2" }', 'flows.tcp = { protocol = "h2", start = "5s" }'),
    )
    assert [flow.start_s for flow in trials(plan, "quic", "1")[0].flows] == [0.0, 5.0]
    assert [flow.start_s for flow in trials(plan, "tcp", "1")[0].flows] == [0.0, 0.0]


def test_a_duration_makes_a_file_that_no_flow_can_finish(tmp_path: Path) -> None:
    trial = trials(plan_of(tmp_path), "quic", "1")[0]
    parameters = content_parameters(trial)
    assert parameters["objects_bytes"] == ""
    assert int(parameters["endless_bytes"]) > 5e6 / 8 * 20
    assert all(flow.object_bytes is None for flow in trial.flows)


def test_an_amount_instead_of_a_duration(tmp_path: Path) -> None:
    changes = (('duration = "20s"', 'object = "2MB"'), ('{ protocol = "h3" }', '{ protocol = "h3", object = "1MB" }'))
    trial = trials(plan_of(tmp_path, *changes), "quic", "1")[0]
    assert [flow.object_bytes for flow in trial.flows] == [1_000_000, 2_000_000]
    assert content_parameters(trial) == {"objects_bytes": "1000000,2000000", "endless_bytes": 0}


PLAYERS = (
    ('kind = "compete"\nduration = "20s"', 'kind = "video"\nquality = "bola"\nwatch = "20s"\nstart = "4s"'),
    ("levels = [0, 1, 4]", "levels = [1]"),
)


def test_flows_of_a_video_are_players_that_fetch_the_same_files(tmp_path: Path) -> None:
    trial = trials(plan_of(tmp_path, *PLAYERS), "quic", "1")[0]
    assert [(flow.protocol, flow.object_bytes, flow.cross) for flow in trial.flows] == [
        ("h3", None, False), ("h2", None, False),
    ]  # fmt: skip
    assert all(0 <= flow.start_s < 1 for flow in trial.flows)
    assert content_parameters(trial) == dict(trial.workload.parameters)


@pytest.mark.parametrize(
    ("flow", "problem"),
    [
        ('{ protocol = "h3", object = "1MB" }', "each flow is a player"),
        ('{ protocol = "h3", cross = true }', "each flow is a player"),
        ('{ protocol = "udp", server = "traffic", client = "traffic" }', "traffic plays no video"),
    ],
)
def test_what_no_player_can_have_is_refused(tmp_path: Path, flow: str, problem: str) -> None:
    with pytest.raises(InputError) as error:
        plan_of(tmp_path, *PLAYERS, ('{ protocol = "h3" }', flow))
    assert problem in error.value.message


def test_what_an_arm_says_of_tcp_is_for_its_flows_over_tcp(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, ("[arms.quic]", '[arms.quic]\ncongestion_control = "bbr"\ntcp_initial_window = 32'))
    quic, tcp = trials(plan, "quic", "1")[0].flows
    assert (quic.congestion_control, quic.initial_window_packets) == (None, None)
    assert (tcp.congestion_control, tcp.initial_window_packets) == ("bbr", 32)


def test_flows_that_come_and_go_share_a_seat_and_have_sizes_of_a_law(tmp_path: Path) -> None:
    web = 'flows.web = { protocol = "h2", arrivals = 2, object = "pareto(30KB, 1.2)" }'
    plan = plan_of(tmp_path, ('flows.tcp = { protocol = "h2" }\n', 'flows.tcp = { protocol = "h2" }\n' + web + "\n"))
    flows = [flow for flow in trials(plan, "quic", "1")[0].flows if flow.group == "web"]
    assert len({flow.address_slot for flow in flows}) == 1 and flows[0].address_slot == 2
    assert all(flow.cross and flow.object_bytes for flow in flows)
    assert 15 < len(flows) < 80
    assert sorted(flow.start_s for flow in flows) == [flow.start_s for flow in flows]
    assert all(flow.start_s < 20 for flow in flows)


NOISE = (
    'flows.noise = { protocol = "udp", server = "traffic", client = "traffic", cross = true, count = 2, '
    'server_knobs.rate = "1.5Mbit", server_knobs.on = 2, server_knobs.off = 2 }'
)


def with_noise(folder: Path, *changes: tuple[str, str]) -> Plan:
    both = ("\n[defaults]", f"{NOISE}\n\n[defaults]")
    return plan_of(folder, ("\n[arms.tcp]", f"{NOISE}\n\n[arms.tcp]"), both, *changes)


def test_cross_traffic_over_udp_fetches_nothing(tmp_path: Path) -> None:
    quic, tcp, *noise = trials(with_noise(tmp_path), "quic", "1")[0].flows
    assert [flow.name for flow in noise] == ["noise-1", "noise-2"]
    for flow in noise:
        assert flow.cross and flow.object_bytes is None and flow.congestion_control is None
        assert flow.server.knobs == {"rate": 1_500_000, "on": 2.0, "off": 2.0}
        assert phases_of(flow) == ()
    assert phases_of(quic) == phases_of(tcp) == (("/endless.bin",),)


def test_cross_traffic_needs_no_file_where_all_others_have_their_own(tmp_path: Path) -> None:
    trial = trials(with_noise(tmp_path, ('duration = "20s"', 'object = "2MB"')), "quic", "1")[0]
    assert trial.flows[-1].object_bytes is None
    assert content_parameters(trial) == {"objects_bytes": "2000000", "endless_bytes": 0}


def test_cross_traffic_is_the_same_whatever_it_stands_in_the_way_of(tmp_path: Path) -> None:
    with_noise(tmp_path)
    study = read_study(tmp_path / "flows.toml")

    def starts(against: int) -> list[float]:
        groups = groups_of(study.arms[0], {**study.settings, "flows.tcp.count": against}, installed())
        return [flow.start_s for flow in draw(groups, 5, 20.0) if flow.cross]

    assert starts(1) == starts(4)
    assert len(set(starts(1))) == 2


def test_drawn_sizes_are_few_and_their_mean_is_near_the_law() -> None:
    sizes = [_drawn_bytes(Size(30_000, 2.0), (number + 0.5) / 2000) for number in range(2000)]
    assert len(set(sizes)) <= 13
    assert sum(sizes) / len(sizes) == pytest.approx(30_000, rel=0.25)


def test_nothing_is_drawn_without_groups() -> None:
    assert draw((), 1, 20.0) == ()


def test_ids_depend_on_the_flows(tmp_path: Path) -> None:
    ids = {trial.id for trial in plan_of(tmp_path).trials}
    other = {
        trial.id
        for trial in plan_of(
            tmp_path, ('flows.subject = { protocol = "h3" }', 'flows.subject = { protocol = "h3", start = "0s" }')
        ).trials
    }
    assert len(ids) == 18
    assert len(ids & other) == 9  # those of the arm that is the same


MISTAKES: dict[str, tuple[tuple[str, str], list[str]]] = {
    "no flow at all": (
        ('flows.subject = { protocol = "h3" }\nflows.tcp = { protocol = "h2" }', 'flows.tcp = { protocol = "h2" }'),
        ["arms.quic.flows", "no flow is left"],
    ),
    "unknown key": (("count", "counts"), ["flows.tcp.counts", "did you mean 'count'"]),
    "negative count": (("[0, 1, 4]", "[-1, 1]"), ["flows.tcp.count", "from 0 to 254"]),
    "too many": (("[0, 1, 4]", "[1, 254]"), ["255 flows", "addresses for 254"]),
    "neither duration nor object": (('duration = "20s"', ""), ["either duration or object"]),
    "both": (('duration = "20s"', 'duration = "20s"\nobject = "1MB"'), ["either duration or object"]),
    "longer than the timeout": (('duration = "20s"', 'duration = "60s"'), ["timeout", "above workload.duration"]),
    "a browser": (
        ('{ protocol = "h3" }', '{ protocol = "h3", client = "chromium" }'),
        ["flows.subject.client", "stays warm"],
    ),
    "unknown stack": (('{ protocol = "h3" }', '{ protocol = "h3", server = "quicgo" }'), ["did you mean 'quic-go'"]),
    "a strange start": (
        ('{ protocol = "h3" }', '{ protocol = "h3", start = "later(2s)" }'),
        ["flows.subject.start", "random(2s)"],
    ),
    "a law of sizes for one flow": (
        ('{ protocol = "h3" }', '{ protocol = "h3", object = "pareto(30KB, 1.2)" }'),
        ["set arrivals"],
    ),
    "arrivals with a count": (
        ('{ protocol = "h3" }', '{ protocol = "h3", arrivals = 1, count = 2, object = "1KB" }'),
        ["flows.subject.arrivals", "without a count"],
    ),
    "udp that competes": (
        ('{ protocol = "h3" }', '{ protocol = "udp", server = "traffic", client = "traffic" }'),
        ["flows.subject.cross", "write cross = true"],
    ),
    "udp that fetches": (
        ("flows.tcp = { ", f'{NOISE[:-1]}, object = "1MB" }}\nflows.tcp = {{ '),
        ["flows.noise.object", "knobs set how much"],
    ),
    "udp that comes and goes": (
        ("flows.tcp = { ", f"{NOISE[:-1]}, arrivals = 1 }}\nflows.tcp = {{ "),
        ["flows.noise.arrivals", "knobs set how much"],
    ),
    "udp of a stack that has it not": (
        ("flows.tcp = { ", 'flows.noise = { protocol = "udp", cross = true }\nflows.tcp = { '),
        ["flows.noise.protocol", "server quic-go"],
    ),
    "a rate in bytes": (
        ("flows.tcp = { ", NOISE.replace("1.5Mbit", "1MB") + "\nflows.tcp = { "),
        ["flows.noise.server_knobs.rate", "bits per second"],
    ),
    "a share of a CPU": (("[defaults]", '[defaults]\nclient_cpu = "50%"'), ["client_cpu", "none can be limited"]),
    "a queue below one packet": (('queue = "30KB"', 'queue = "1000B"'), ["network.queue", "1500"]),
}


@pytest.mark.parametrize(("change", "parts"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_says_where_it_is_and_what_is_allowed(
    tmp_path: Path, change: tuple[str, str], parts: list[str]
) -> None:
    with pytest.raises(InputError) as caught:
        plan_of(tmp_path, change)
    assert all(part in str(caught.value) for part in parts), str(caught.value)


def test_udp_needs_the_workload_that_has_cross_traffic(tmp_path: Path) -> None:
    udp = 'protocol = "udp"\nserver = "traffic"\nclient = "traffic"'
    changes = [
        ('flows.subject = { protocol = "h3" }\nflows.tcp = { protocol = "h2" }', udp),
        ('flows.subject = { protocol = "h2" }\nflows.tcp = { protocol = "h2" }', 'protocol = "h2"'),
        ('kind = "compete"\nduration = "20s"', 'kind = "download"\nobject = "1MB"'),
        ('sets = "flows.tcp.count"\nlevels = [0, 1, 4]', 'sets = "network.rate"\nlevels = ["5Mbit"]'),
        ('metrics = ["share_of_used"]', 'metrics = ["goodput"]'),
        ('metric = "share_of_used"', 'metric = "goodput"'),
    ]
    with pytest.raises(InputError, match="udp is cross traffic alone"):
        plan_of(tmp_path, *changes)


def test_flows_need_the_workload_that_has_them(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="workload download has one flow"):
        plan_of(tmp_path, ('kind = "compete"\nduration = "20s"', 'kind = "download"\nobject = "1MB"'))


def test_a_metric_that_compares_arms_needs_to_know_with_which(tmp_path: Path) -> None:
    metrics = ('metrics = ["share_of_used"]', 'metrics = ["share_of_used", "conformance"]')
    with pytest.raises(InputError, match=r"analysis\.reference: missing: conformance compares"):
        plan_of(tmp_path, metrics)
    reference = ("[defaults]", '[analysis]\nreference = "kernel"\n\n[defaults]')
    with pytest.raises(InputError, match=r'analysis\.reference = "kernel": no such arm; allowed: quic, tcp'):
        plan_of(tmp_path, metrics, reference)


def test_a_group_whose_protocol_is_a_default_is_in_every_arm(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        ('flows.tcp = { protocol = "h2" }\n', ""),
        ('flows.tcp = { protocol = "h2" }\n', ""),
        ('client = "quic-go"', 'client = "quic-go"\nflows.tcp = { protocol = "h2" }'),
    )
    assert [flow.name for flow in trials(plan, "quic", "4")[0].flows] == ["subject", *(f"tcp-{n}" for n in range(1, 5))]


def test_flows_fetch_what_a_round_drew_and_a_group_what_is_its_own(tmp_path: Path) -> None:
    changes = (('duration = "20s"', 'object = "2MB"'), ('{ protocol = "h3" }', '{ protocol = "h3", object = "1MB" }'))
    for trial in plan_of(tmp_path, *changes, around="standard").trials:
        drawn_bytes = int(trial.workload.parameters["object_bytes"])
        assert 1_900_000 <= drawn_bytes <= 2_100_000
        assert {flow.object_bytes for flow in trial.flows} <= {1_000_000, drawn_bytes}


def test_the_flows_of_a_round_start_when_they_did_without_draws(tmp_path: Path) -> None:
    starts = [
        [(trial.arm, trial.round, flow.name, flow.start_s) for trial in planned.trials for flow in trial.flows]
        for planned in (plan_of(tmp_path), plan_of(tmp_path, around="standard"))
    ]
    assert starts[0] == starts[1]


def test_a_flow_that_competes_chooses_no_protocol(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="speaks one protocol, h3 or h2"):
        plan_of(tmp_path, ('{ protocol = "h3" }', '{ protocol = "h3-or-h2" }'))
