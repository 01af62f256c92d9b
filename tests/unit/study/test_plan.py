from collections import Counter
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.core.errors import InputError
from longlook.core.model import Arm, ConnectionState, Endpoint, Factor, Level, Link, Plan, Stage, Study, Trial
from longlook.network import settings as network
from longlook.network.surgery import with_surgery
from longlook.study.cells import cell_id
from longlook.study.files import read_study
from longlook.study.plan import make_plan
from longlook.study.schema import SAMPLED
from tests.data.studies import CATALOGUE, study_file


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return read_study(study_file(tmp_path_factory.mktemp("study")), CATALOGUE, losses=SAMPLED)


def plan(study: Study, *only: str) -> Plan:
    return make_plan(study, only, CATALOGUE)


def a_study(base: Study, rates: list[int], losses: list[int], rounds: int, seed: int) -> Study:
    factors = (
        Factor("rate", tuple(Level(f"{rate}Mbit", {"network.rate": f"{rate}Mbit"}) for rate in rates)),
        Factor("loss", tuple(Level(f"{loss}%", {"network.loss": f"{loss}%"}) for loss in losses)),
    )
    settings = {**base.settings, "workload.object": "5KB"}
    return replace(base, factors=factors, settings=settings, rounds=rounds, seed=seed, claims=())


few = settings(max_examples=25)
numbers = st.lists(st.integers(1, 99), min_size=1, max_size=4, unique=True)
shapes = st.tuples(numbers, numbers, st.integers(1, 4), st.integers(0, 2**63 - 1))


def place(trial: Trial) -> tuple[str, str, int]:
    return trial.cell_id, trial.arm, trial.round


def blocks(trials: tuple[Trial, ...]) -> list[list[Trial]]:
    return [list(group) for _, group in groupby(trials, key=lambda trial: (trial.round, trial.cell_id))]


@few
@given(shapes)
def test_every_arm_of_every_cell_runs_once_a_round(study: Study, shape: tuple[list[int], list[int], int, int]) -> None:
    rates, losses, rounds, _ = shape
    counts = Counter(place(trial) for trial in plan(a_study(study, *shape)).trials)
    assert set(counts.values()) == {1}
    assert len(counts) == len(rates) * len(losses) * 2 * rounds


@few
@given(shapes)
def test_rounds_are_outermost_and_blocks_contiguous(study: Study, shape: tuple[list[int], list[int], int, int]) -> None:
    trials = plan(a_study(study, *shape)).trials
    assert [trial.round for trial in trials] == sorted(trial.round for trial in trials)
    assert all({trial.arm for trial in block} == {"tcp", "quic"} and len(block) == 2 for block in blocks(trials))


@few
@given(shapes)
def test_seeds_are_shared_in_a_block_and_differ_between_blocks(
    study: Study, shape: tuple[list[int], list[int], int, int]
) -> None:
    by_block = [{trial.seed for trial in block} for block in blocks(plan(a_study(study, *shape)).trials)]
    assert all(len(seeds) == 1 for seeds in by_block)
    assert len(set().union(*by_block)) == len(by_block)
    assert all(0 <= seed < 2**63 for seeds in by_block for seed in seeds)


@few
@given(shapes)
def test_ids_are_unique_and_the_plan_is_a_function_of_the_study(
    study: Study, shape: tuple[list[int], list[int], int, int]
) -> None:
    first, second = plan(a_study(study, *shape)), plan(a_study(study, *shape))
    assert first == second
    assert len({trial.id for trial in first.trials}) == len(first.trials)


@few
@given(shapes, st.integers(100, 200), st.integers(1, 3))
def test_adding_a_level_or_a_round_leaves_what_was_there(
    study: Study, shape: tuple[list[int], list[int], int, int], rate: int, more_rounds: int
) -> None:
    rates, losses, rounds, seed = shape
    before = {place(trial): trial for trial in plan(a_study(study, *shape)).trials}
    grown = plan(a_study(study, [rate, *rates], losses, rounds + more_rounds, seed)).trials
    assert [trial for trial in grown if place(trial) in before] == list(before.values())


@few
@given(shapes, st.data())
def test_a_filter_leaves_a_subset_in_the_same_order(
    study: Study, shape: tuple[list[int], list[int], int, int], data: st.DataObject
) -> None:
    rates, losses, _, _ = shape
    some_rates = data.draw(st.lists(st.sampled_from(rates), max_size=3))
    some_losses = data.draw(st.lists(st.sampled_from(losses), max_size=3))
    only = [f"rate={rate}Mbit" for rate in some_rates] + [f"loss={loss}%" for loss in some_losses]
    whole = a_study(study, *shape)
    wanted = [
        trial
        for trial in plan(whole).trials
        if (not some_rates or trial.cell["rate"] in {f"{rate}Mbit" for rate in some_rates})
        and (not some_losses or trial.cell["loss"] in {f"{loss}%" for loss in some_losses})
    ]
    assert list(plan(whole, *only).trials) == wanted


def changed(before: Study, after: Study) -> set[tuple[str, str]]:
    """(cell id, arm) of the trials whose id differs; the plans have the same trials."""
    ids = {place(trial): trial.id for trial in plan(before).trials}
    others = {place(trial): trial.id for trial in plan(after).trials}
    assert ids.keys() == others.keys()
    differing = {key for key in ids if ids[key] != others[key]}
    assert {key for key in ids if (key[0], key[1]) in {(cell, arm) for cell, arm, _ in differing}} == differing
    return {(cell, arm) for cell, arm, _ in differing}


def with_arm(study: Study, name: str, **settings: str) -> Study:
    arms = tuple(replace(arm, settings={**arm.settings, **settings}) if arm.name == name else arm for arm in study.arms)
    return replace(study, arms=arms)


CELLS = {("10Mbit", "small"), ("10Mbit", "large"), ("50 Mbit/s", "small"), ("50 Mbit/s", "large")}


def test_an_arms_setting_changes_that_arms_trials_only(study: Study) -> None:
    for change in ({"connection": "resumed"}, {"server_knobs.window": "1MB"}, {"client": "go@1.0"}):
        assert {arm for _, arm in changed(study, with_arm(study, "quic", **change))} == {"quic"}
    assert len(changed(study, with_arm(study, "quic", connection="resumed"))) == len(CELLS)


def test_a_levels_setting_changes_that_levels_trials_only(study: Study) -> None:
    rate, size = study.factors
    larger = replace(size, levels=(size.levels[0], Level("large", {"workload.object": "2MB"})))
    cells = {cell for cell, _ in changed(study, replace(study, factors=(rate, larger)))}
    assert cells == {trial.cell_id for trial in plan(study).trials if trial.cell["size"] == "large"}


@pytest.mark.parametrize(
    "change",
    [
        {"settings": {"network.rtt": "50ms"}},
        {"settings": {"network.loss": "1%"}},
        {"settings": {"network.up.queue": "30KB"}},
        {"settings": {"workload.objects": 2}},
        {"settings": {"server": "go@1.0"}},
        {"settings": {"client_knobs.gso": False}},
        {"timeout_s": 31.0},
        {"seed": 8},
    ],
    ids=str,
)
def test_a_shared_setting_changes_every_trial(study: Study, change: dict[str, object]) -> None:
    settings = change.pop("settings", {})
    assert isinstance(settings, dict)
    after = replace(study, settings={**study.settings, **settings}, **change)  # type: ignore[arg-type]
    assert len(changed(study, after)) == 2 * len(CELLS)


def test_labels_spellings_and_defaults_change_nothing(study: Study, tmp_path: Path) -> None:
    ids = {trial.id for trial in plan(study).trials}
    spelt = read_study(
        study_file(
            tmp_path,
            ('"10Mbit", "50 Mbit/s"', '"10mbit", "0.05Gbit"'),
            ('label = "TCP"', 'label = "Other"'),
            ('rtt = "36ms"', 'rtt = "0.036s"\nloss = "0%"\nqueue = "1.0bdp"'),
            ('server = "go"', 'server = "go@2.0"\nserver_knobs.window = 65536'),
            ('effect_pct."10Mbit"', 'effect_pct."10mbit"'),
        ),
        CATALOGUE,
    )
    assert {trial.id for trial in plan(spelt).trials} == ids


def test_arms_that_are_alike_are_trials_of_their_own(study: Study) -> None:
    tcp = study.arms[0]
    twins = replace(study, arms=(tcp, Arm("again", "Again", tcp.settings)))
    trials = plan(twins).trials
    assert len({trial.id for trial in trials}) == len(trials)
    assert {trial.id for trial in trials if trial.arm == "tcp"} <= {trial.id for trial in plan(study).trials}


def test_a_trial_is_resolved_completely(study: Study) -> None:
    settings = {**study.settings, "network.loss": "1%", "network.jitter": "5ms", "network.down.rate": "20Mbit"}
    knobs = {"server_knobs.window": "64KB", "client_knobs.window": 65536}
    (trial,) = [
        trial
        for trial in plan(replace(with_arm(study, "tcp", **knobs), settings=settings), "rate=10Mbit").trials  # type: ignore[arg-type]
        if trial.arm == "tcp" and trial.round == 0 and trial.cell["size"] == "large"
    ]
    assert trial.link == Link(
        up=(
            Stage("loss", {"probability": 0.01}),
            Stage("rate", {"rate_bps": 10_000_000, "queue_bytes": 45_000}),
            Stage("delay", {"delay_ns": 18_000_000}),
            Stage("jitter", {"jitter_ns": 5_000_000, "reorder": False}),
        ),
        down=(
            Stage("loss", {"probability": 0.01}),
            Stage("rate", {"rate_bps": 20_000_000, "queue_bytes": 90_000}),
            Stage("delay", {"delay_ns": 18_000_000}),
            Stage("jitter", {"jitter_ns": 5_000_000, "reorder": False}),
        ),
    )
    assert trial.workload.parameters == {"objects": 1, "object_bytes": 1_000_000, "think": 0.0}
    assert trial.server == Endpoint("go", "2.0", {"window": 64_000})
    assert trial.client == Endpoint("go", "2.0", {})  # the knob's default
    assert (trial.protocol, trial.connection, trial.congestion_control) == ("h2", ConnectionState.COLD, "cubic")


def with_network(study: Study, **network: str) -> Study:
    return replace(study, settings={**study.settings, **{f"network.{key}": value for key, value in network.items()}})


def test_no_access_delay_leaves_every_trial_as_it_was(study: Study) -> None:
    assert plan(with_network(study, access_delay="off")) == plan(study)
    assert all(stage.kind != "access" for trial in plan(study).trials for stage in (*trial.link.up, *trial.link.down))


def test_the_access_comes_first_and_lasts_a_packet_of_its_directions_rate(study: Study) -> None:
    late = with_network(study, access_delay="packet", loss="1%")
    late = replace(late, settings={**late.settings, "network.up.rate": "7Mbit"})
    link = plan(late, "rate=10Mbit").trials[0].link
    assert [stage.kind for stage in link.down] == ["access", "loss", "rate", "delay"]
    assert link.down[0] == Stage("access", {"max_ns": 1_200_000})
    assert link.up[0] == Stage("access", {"max_ns": 1_714_286})  # rounded up


def test_by_default_only_connections_that_compete_have_an_access_delay() -> None:
    settings = {**network.DEFAULTS, "network.rate": "10Mbit", "network.rtt": "36ms"}
    assert network.link(settings) == network.link({**settings, "network.access_delay": "off"})
    alone = {**settings, "workload.connections": 1}
    assert network.link(alone) == network.link(settings)
    several = {**settings, "workload.connections": 2}
    assert network.link(several) == network.link({**settings, "network.access_delay": "packet"})
    assert network.link(several).down[0] == Stage("access", {"max_ns": 1_200_000})


def test_an_access_delay_may_be_a_time_of_one_direction(study: Study, tmp_path: Path) -> None:
    path = study_file(tmp_path, ('rtt = "36ms"', 'rtt = "36ms"\naccess_delay = "0us"\ndown.access_delay = "0.5ms"'))
    read = read_study(path, CATALOGUE)
    assert read.settings["network.access_delay"] == "off"
    assert read.settings["network.down.access_delay"] == "500us"
    link = plan(read).trials[0].link
    assert link.up[0].kind == "rate"
    assert link.down[0] == Stage("access", {"max_ns": 500_000})


def test_surgery_leaves_every_seed_as_it_was(study: Study) -> None:
    plain = plan(study)
    assert plan(with_network(study, **{"surgery.up": "off", "surgery.down": "off"})) == plain
    operated = plan(with_network(study, **{"surgery.down": "forgive 12"}))
    assert [trial.seed for trial in operated.trials] == [trial.seed for trial in plain.trials]
    assert [trial.arm for trial in operated.trials] == [trial.arm for trial in plain.trials]
    assert not {trial.id for trial in operated.trials} & {trial.id for trial in plain.trials}
    for trial, before in zip(operated.trials, plain.trials, strict=True):
        assert (trial.randomness_of, before.randomness_of) == (before.id, "")
        assert trial.link == with_surgery(before.link, up="off", down="forgive 12")


def test_an_arm_may_have_surgery_of_its_own(study: Study, tmp_path: Path) -> None:
    path = study_file(tmp_path, ("[arms.tcp]", '[arms.tcp]\nnetwork.surgery.down = "drop 3; drop 4"'))
    read = plan(read_study(path, CATALOGUE))
    plain = plan(study)
    assert {trial.id for trial in read.trials if trial.arm != "tcp"} == {
        trial.id for trial in plain.trials if trial.arm != "tcp"
    }
    for trial, before in zip(read.trials, plain.trials, strict=True):
        assert (trial.seed, trial.arm) == (before.seed, before.arm)
        assert trial.randomness_of == (before.id if trial.arm == "tcp" else "")
        if trial.arm == "tcp":
            assert trial.link == with_surgery(before.link, up="off", down="drop 3-4")
            assert trial.id != before.id


def test_a_level_may_have_surgery_and_meets_the_same_draws(tmp_path: Path) -> None:
    path = study_file(
        tmp_path,
        (
            'sets = "network.rate"\nlevels = ["10Mbit", "50 Mbit/s"]',
            'sets = "network.surgery.up"\nlevels = ["off", "drop 5"]',
        ),
        ('rtt = "36ms"', 'rtt = "36ms"\nrate = "10Mbit"'),
        ('effect_pct."10Mbit"', 'effect_pct."off"'),
    )
    trials = plan(read_study(path, CATALOGUE)).trials
    levels = {trial.cell["rate"] for trial in trials}
    assert levels == {"off", "drop 5"}
    of = {level: {(t.arm, t.round): t.seed for t in trials if t.cell["rate"] == level} for level in levels}
    assert of["off"] == of["drop 5"]


def test_a_packets_time_needs_a_rate(tmp_path: Path) -> None:
    path = study_file(
        tmp_path,
        ('sets = "network.rate"\nlevels = ["10Mbit", "50 Mbit/s"]', 'sets = "network.loss"\nlevels = ["0%", "1%"]'),
        ('rtt = "36ms"', 'rtt = "36ms"\naccess_delay = "packet"'),
        ('effect_pct."10Mbit"', 'effect_pct."1%"'),
    )
    with pytest.raises(InputError, match=r"network\.rate: missing"):
        read_study(path, CATALOGUE)


def test_one_connection_is_not_mentioned_so_that_older_trials_keep_their_ids(tmp_path: Path) -> None:
    def read(connections: str) -> Plan:
        fetch = ('kind = "page"\nobjects = 1', f'kind = "fetch"{connections}')
        return plan(read_study(study_file(tmp_path, fetch), CATALOGUE))

    assert set(read("").trials[0].workload.parameters) == {"object_bytes"}
    assert read("\nconnections = 1") == read("")
    several = read("\nconnections = 2")
    assert several.trials[0].workload.parameters["connections"] == 2
    assert not {trial.id for trial in several.trials} & {trial.id for trial in read("").trials}


def test_the_kernels_congestion_control_is_not_quics(study: Study) -> None:
    shared = replace(study, settings={**study.settings, "congestion_control": "bbr"})
    assert {trial.congestion_control for trial in plan(shared).trials if trial.arm == "quic"} == {None}


def test_a_short_path_still_queues_one_packet(study: Study) -> None:
    near = replace(study, settings={**study.settings, "network.rtt": "100us"})
    trial = plan(near, "rate=10Mbit").trials[0]
    assert trial.link.up[0].parameters["queue_bytes"] == 1500


def test_an_odd_rtt_is_kept_to_the_nanosecond(study: Study) -> None:
    trial = plan(replace(study, settings={**study.settings, "network.rtt": "37ns"})).trials[0]
    assert [stages[-1].parameters["delay_ns"] for stages in (trial.link.up, trial.link.down)] == [19, 18]


def test_exclude_leaves_out_the_cells_that_match_all_of_a_rule(study: Study) -> None:
    fewer = replace(study, exclude=({"rate": ("10Mbit",), "size": ("large",)},))
    assert {tuple(trial.cell.values()) for trial in plan(fewer).trials} == CELLS - {("10Mbit", "large")}


@pytest.mark.parametrize(
    ("only", "message"),
    [
        ("rate", "neither FACTOR=LEVEL nor a cell"),
        ("rat=10Mbit", "no factor 'rat'; did you mean 'rate'?"),
        ("rate=10Mbt", "no level '10Mbt'; did you mean '10Mbit'?"),
    ],
)
def test_a_filter_that_matches_nothing_known_is_reported(study: Study, only: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        plan(study, only)
    assert message in caught.value.message


def test_a_filter_that_leaves_nothing_is_reported(study: Study) -> None:
    fewer = replace(study, exclude=({"rate": ("10Mbit",), "size": ("large",)},))
    with pytest.raises(InputError, match="no cell of study tiny has rate=10Mbit and size=large"):
        plan(fewer, "rate=10Mbit", "size=large")


def test_the_order_is_the_same_on_every_machine(study: Study) -> None:
    """If this fails, no recorded plan can be resumed any more: raise the schema version with the change."""
    assert [(trial.cell_id, trial.arm, trial.id, trial.seed) for trial in plan(study, "rate=10Mbit").trials[:4]] == [
        ("10Mbit_large", "tcp", "035166443b56de9e", 5894855770988719158),
        ("10Mbit_large", "quic", "b87ded4fa9fae71b", 5894855770988719158),
        ("10Mbit_small", "tcp", "8d00b7b81130929e", 7773912830164580425),
        ("10Mbit_small", "quic", "3a644e05fbe01d6c", 7773912830164580425),
    ]


def test_cell_ids_are_readable_unique_and_safe() -> None:
    assert cell_id({"rate": "10Mbit", "size": "1MBx1"}) == "10Mbit_1MBx1"
    odd = [cell_id({"a": label}) for label in ("a/b", "a b", "a_b", "..", "é", "x" * 300)]
    assert len(set(odd)) == len(odd)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_.") and len(name) < 140 for name in odd)
    assert cell_id({"a": "x_y", "b": "z"}) != cell_id({"a": "x", "b": "y_z"})


def test_a_processor_makes_another_trial_and_none_at_all_the_same(study: Study) -> None:
    def ids(**settings: str) -> set[str]:
        arms = tuple(replace(arm, settings={**arm.settings, **settings}) for arm in study.arms)
        return {trial.id for trial in plan(replace(study, arms=arms)).trials}

    assert ids(client_processor="off") == ids()
    slow = ids(client_processor="call 1us")
    assert not slow & ids()
    assert not slow & ids(server_processor="call 1us")
