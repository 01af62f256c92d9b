"""Neighbourhoods: what rounds draw about the cells of a study, and what of a plan it leaves alone."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longlook.core import codec
from longlook.core.errors import InputError
from longlook.core.model import Plan, Study, Trial
from longlook.study import laws
from longlook.study.files import find_study, read_study
from longlook.study.neighbourhood import columns, drawn_number
from longlook.study.plan import make_plan
from tests.data.studies import CATALOGUE, study_file

STANDARD = ('around = "none"', 'around = "standard"')


def read(folder: Path, *replacements: tuple[str, str], **other: Any) -> Study:
    return read_study(study_file(folder, *replacements), CATALOGUE, **other)


def plan(study: Study, *only: str) -> Plan:
    return make_plan(study, only, CATALOGUE)


def with_law(**laws: str) -> tuple[str, str]:
    table = ", ".join(f'"{key}" = "{law}"' for key, law in laws.items())
    return ('around = "none"', f"around = {{ {table} }}")


def place(trial: Trial) -> tuple[str, str, int]:
    return trial.cell_id, trial.arm, trial.round


@pytest.fixture
def standard(tmp_path: Path) -> Study:
    return replace(read(tmp_path, STANDARD), rounds=200)


def test_the_arms_of_a_round_draw_the_same_and_rounds_differ(standard: Study) -> None:
    by_block: dict[tuple[str, int], list[Trial]] = {}
    for trial in plan(standard).trials:
        by_block.setdefault((trial.cell_id, trial.round), []).append(trial)
    for first, second in by_block.values():
        assert (first.link, first.workload, first.drawn) == (second.link, second.workload, second.drawn)
        assert first.start_phase_ns == second.start_phase_ns
        assert first.certificate_padding_bytes == second.certificate_padding_bytes
    assert len({codec.canonical(block[0].drawn) for block in by_block.values()}) == len(by_block)


def test_the_link_and_the_workload_are_what_was_drawn(standard: Study) -> None:
    for trial in plan(standard, "rate=10Mbit", "size=small").trials:
        bottleneck, delay = trial.link.down
        assert list(trial.drawn) == [
            *("network.rtt", "network.rate", "network.queue", "workload.object", "start_phase", "certificate"),
        ]
        number = {setting: drawn_number(trial, setting) or 0.0 for setting in trial.drawn}
        assert bottleneck.parameters["rate_bps"] == round(number["network.rate"] * 1e6)
        assert bottleneck.parameters["queue_bytes"] == number["network.queue"]
        assert delay.parameters["delay_ns"] + trial.link.up[1].parameters["delay_ns"] == round(
            number["network.rtt"] * 1e6
        )
        assert trial.workload.parameters["object_bytes"] == number["workload.object"]
        assert trial.start_phase_ns == round(number["start_phase"] * 1e6)
        assert trial.certificate_padding_bytes == number["certificate"]
        assert 9.5 <= number["network.rate"] <= 10.5
        assert 34.2 <= number["network.rtt"] <= 37.8
        assert 4750 <= number["workload.object"] <= 5250
        assert 0 <= trial.start_phase_ns < 100_000_000
        assert trial.start_phase_ns % 32_000 == 0
        assert trial.certificate_padding_bytes in range(0, 401, 50)


def test_a_queue_in_bandwidth_delay_products_follows_what_was_drawn(standard: Study) -> None:
    for trial in plan(standard, "rate=10Mbit", "size=small").trials:
        bdp_bytes = (drawn_number(trial, "network.rate") or 0) * (drawn_number(trial, "network.rtt") or 0) * 125
        multiple = float(trial.drawn["network.queue"].removesuffix("bdp"))
        assert 0.95 <= multiple <= 1.05
        assert drawn_number(trial, "network.queue") == pytest.approx(multiple * bdp_bytes, abs=1)


def test_draws_fill_their_neighbourhood_evenly(standard: Study) -> None:
    """The largest distance from the law of 200 draws, in each of 8 streams, against Kolmogorov's bound at 0.001."""
    trials = [trial for trial in plan(standard, "size=small").trials if trial.arm == "quic"]
    for cell in ("10Mbit", "50 Mbit/s"):
        for setting, nominal in (("network.rtt", 36), ("network.rate", float(cell.split("M")[0].strip()))):
            drawn = sorted(drawn_number(trial, setting) or math.nan for trial in trials if trial.cell["rate"] == cell)
            places = [(value / nominal - 0.95) / 0.1 for value in drawn]
            distance = max(abs(place - (index + 0.5) / len(places)) for index, place in enumerate(places))
            assert distance < 1.95 / math.sqrt(len(places)) + 0.5 / len(places) + 0.005, setting


def test_a_draw_has_a_stream_of_its_own(tmp_path: Path, standard: Study) -> None:
    before = {place(trial): trial for trial in plan(standard).trials}
    fewer = replace(standard, around={"network.rate": "uniform 5%"})
    for trial in plan(fewer).trials:
        assert trial.drawn == {"network.rate": before[place(trial)].drawn["network.rate"]}
    more = replace(standard, rounds=standard.rounds + 1)
    assert [trial for trial in plan(more).trials if place(trial) in before] == list(before.values())
    other = replace(standard, seed=8)
    assert all(trial.drawn != before[place(trial)].drawn for trial in plan(other).trials)


def test_cells_with_one_workload_serve_the_same_files(standard: Study) -> None:
    drawn: dict[tuple[str, int], set[str]] = {}
    for trial in plan(standard).trials:
        drawn.setdefault((trial.cell["size"], trial.round), set()).add(trial.drawn["workload.object"])
    assert all(len(sizes) == 1 for sizes in drawn.values())


def test_without_draws_a_plan_is_what_it_was(tmp_path: Path, standard: Study) -> None:
    point = read(tmp_path)
    assert point.around == {}
    encoded = codec.encode(plan(point))
    assert all("drawn" not in trial and "start_phase_ns" not in trial for trial in encoded["trials"])
    assert "around" not in codec.encode(point)
    drawn = plan(replace(standard, rounds=point.rounds))
    assert [(place(trial), trial.seed) for trial in drawn.trials] == [
        (place(trial), trial.seed) for trial in plan(point).trials
    ]
    assert not {trial.id for trial in drawn.trials} & {trial.id for trial in plan(point).trials}


def test_the_demo_at_the_point_has_the_plan_of_before_neighbourhoods() -> None:
    assert make_plan(find_study("demo", around="none"), ["client=quic-go"]).hash == "f8f7d4425d9c0033"


def test_a_plan_reads_back_as_it_was_written(standard: Study) -> None:
    planned = plan(replace(standard, rounds=2))
    assert codec.decode(Plan, codec.encode(planned)) == planned
    assert codec.decode(Study, codec.encode(standard)).around == standard.around


def test_the_default_is_standard_in_virtual_time_and_none_in_real_time(tmp_path: Path) -> None:
    silent = ('around = "none"\n', "")
    assert read(tmp_path, silent).around == laws.STANDARD_LAWS
    assert read(tmp_path, silent, engine="live").around == {}
    assert read(tmp_path, STANDARD, engine="live").around == laws.STANDARD_LAWS
    assert read(tmp_path, STANDARD, around="none").around == {}
    assert read(tmp_path, around={"network.rtt": "uniform 2%"}).around == {"network.rtt": "uniform 2%"}
    assert read(tmp_path, around={}).around == {}


def test_losses_are_integrated_in_virtual_time_unless_a_study_says_otherwise(tmp_path: Path) -> None:
    assert read(tmp_path).loss_strata
    assert not read(tmp_path, engine="live").loss_strata
    assert not read(tmp_path, losses="sampled").loss_strata
    sampled = ("rounds = ", 'losses = "sampled"\nrounds = ')
    assert not read(tmp_path, sampled).loss_strata
    assert read(tmp_path, sampled, losses="strata", engine="live").loss_strata


def test_each_level_of_a_factor_has_its_neighbourhood(tmp_path: Path) -> None:
    study = replace(read(tmp_path, with_law(**{"network.rate": "uniform 10%"})), rounds=30)
    for label, nominal in (("10Mbit", 10), ("50 Mbit/s", 50)):
        drawn = [drawn_number(trial, "network.rate") for trial in plan(study).trials if trial.cell["rate"] == label]
        assert all(value is not None and 0.9 * nominal <= value <= 1.1 * nominal for value in drawn)


@pytest.mark.parametrize(
    ("network", "drawn"),
    [
        ('rtt = "36ms"\nqueue = "30KB"', {"network.rtt", "network.rate", "network.queue"}),
        ('rtt = "36ms"\nqueue = "20packets"', {"network.rtt", "network.rate", "network.queue"}),
        ('rtt = "36ms"\naqm = "codel"', {"network.rtt", "network.rate"}),
        ('rtt = "36ms"\naqm = "codel"\nqueue = "2bdp"', {"network.rtt", "network.rate", "network.queue"}),
        ('rtt = "uniform(30ms, 40ms, 1s)"', {"network.rate", "network.queue"}),
        ('up.delay = "10ms"\ndown.delay = "26ms"', {"network.rtt", "network.rate", "network.queue"}),
        ('preset = "endres2022-geo"', {"network.rtt", "network.rate", "network.queue"}),
    ],
)
def test_plain_numbers_are_drawn_and_what_varies_by_itself_is_not(
    tmp_path: Path, network: str, drawn: set[str]
) -> None:
    trial = plan(read(tmp_path, STANDARD, ('rtt = "36ms"', network))).trials[0]
    assert {setting for setting in trial.drawn if setting.startswith("network.")} == drawn


def test_the_values_of_both_directions_move_together(tmp_path: Path) -> None:
    asymmetric = ('rtt = "36ms"', 'up.delay = "10ms"\ndown.delay = "26ms"\nup.rate = "1Mbit"')
    for trial in plan(replace(read(tmp_path, STANDARD, asymmetric), rounds=20), "rate=10Mbit").trials:
        (up_rate, up_delay), (down_rate, down_delay) = trial.link.up, trial.link.down
        up_ns, down_ns = up_delay.parameters["delay_ns"], down_delay.parameters["delay_ns"]
        assert up_ns / 10e6 == pytest.approx(down_ns / 26e6, abs=2e-3)
        assert drawn_number(trial, "network.rtt") == (up_ns + down_ns) / 1e6
        up_bps, down_bps = up_rate.parameters["rate_bps"], down_rate.parameters["rate_bps"]
        assert up_bps / 1e6 == pytest.approx(down_bps / 10e6, abs=2e-3)


def test_an_arm_with_its_own_access_shares_the_drawn_path(tmp_path: Path) -> None:
    own = ("[arms.quic]", '[arms.quic]\nnetwork.access_delay = "packet"')
    for trial in plan(read(tmp_path, STANDARD, own), "size=small").trials:
        stages = {stage.kind: stage.parameters for stage in trial.link.down}
        assert stages["rate"]["rate_bps"] == round((drawn_number(trial, "network.rate") or 0) * 1e6)
        if trial.arm == "quic":
            assert stages["access"]["max_ns"] == pytest.approx(12e12 / stages["rate"]["rate_bps"], abs=1)


@pytest.mark.parametrize(
    ("replacements", "message"),
    [
        ([('around = "none"', 'around = "1ms"')], 'around = "1ms": allowed: standard, none; or a table of laws'),
        (
            [with_law(**{"network.rtd": "uniform 5%"})],
            'around.network.rtd = "uniform 5%": nothing that a round can draw',
        ),
        ([with_law(**{"network.rtt": "uniform 120%"})], "a share lies between 0% and 100%"),
        (
            [with_law(**{"network.loss": "uniform 80%"}), ('rtt = "36ms"', 'rtt = "36ms"\nloss = "60%"')],
            "around.network.loss: cell 10Mbit_small: network.loss = 60% is drawn as 108%: a share lies between",
        ),
        (
            [with_law(**{"network.loss": "uniform 5%"})],
            "around.network.loss: draws nothing: no cell has a plain number",
        ),
        ([with_law(order="uniform")], "around.order: draws nothing: no cell has a page of several objects"),
        (
            [with_law(**{"network.queue": "uniform 6%"}), ('rtt = "36ms"', 'rtt = "36ms"\nqueue = "1500B"')],
            "where all that is drawn is lowest, network.queue = 1410B: smaller than one packet",
        ),
        (
            [with_law(**{"network.rtt": "uniform 6%"}), ('rtt = "36ms"', 'rtt = "36ms"\njitter = "18ms"')],
            "where all that is drawn is lowest, network.jitter = 18ms: jitter varies the delay",
        ),
    ],
)
def test_a_neighbourhood_that_cannot_be_names_the_law_and_the_cell(
    tmp_path: Path, replacements: list[tuple[str, str]], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, *replacements)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("limit", "setting", "low", "high"),
    [
        (('workload.object = "5KB"', 'workload.object = "68B"'), "workload.object", 68, 71),
        (('rtt = "36ms"', 'rtt = "36ms"\nqueue = "1500B"'), "network.queue", 1500, 1575),
        (('rtt = "36ms"', 'rtt = "36ms"\njitter = "18ms"'), "network.rtt", 36, 37.8),
    ],
)
def test_a_value_at_its_limit_is_drawn_up_to_the_limit(
    tmp_path: Path, limit: tuple[str, str], setting: str, low: float, high: float
) -> None:
    """The standard neighbourhood is the product's own, so a study may state all that is allowed."""
    study = replace(read(tmp_path, STANDARD, limit), rounds=20)
    cut = [trial for trial in plan(study, "rate=10Mbit", "size=small").trials if trial.arm == "quic"]
    values = [drawn_number(trial, setting) or 0.0 for trial in cut]
    assert all(low <= value <= high for value in values)
    assert low in values or high in values
    assert len(set(values)) > 2
    rates = [drawn_number(trial, "network.rate") or 0.0 for trial in cut]
    assert max(rates) - min(rates) > 0.5


def test_where_several_draws_meet_a_limit_one_of_them_is_cut(tmp_path: Path) -> None:
    """A queue of a packet in bandwidth-delay products: rate, round trip and queue are drawn, and may all be low."""
    small = ('rtt = "36ms"', 'rtt = "12ms"\nqueue = "0.1bdp"')
    for trial in plan(replace(read(tmp_path, STANDARD, small), rounds=40), "rate=10Mbit", "size=small").trials:
        assert (drawn_number(trial, "network.queue") or 0) >= 1500


def test_a_draw_between_the_ends_that_cannot_be_names_the_round(tmp_path: Path) -> None:
    """At both ends of these laws the jitter fits the delay; not where one is high and the other low."""
    both = with_law(**{"network.rtt": "uniform 20%", "network.jitter": "uniform 20%"})
    study = replace(read(tmp_path, both, ('rtt = "36ms"', 'rtt = "36ms"\njitter = "16ms"')), rounds=50)
    with pytest.raises(InputError, match=r"study tiny, cell 10Mbit_small, round \d+: network\.jitter: jitter varies"):
        plan(study, "rate=10Mbit", "size=small")


def test_pages_of_several_objects_are_asked_for_in_drawn_orders() -> None:
    study = find_study("kakhki2017-fig6b", rounds=20)
    orders: dict[str, set[int]] = {}
    for trial in make_plan(study, ["rate=10Mbit"]).trials:
        if trial.workload.parameters["objects"] == 1:
            assert "order" not in trial.drawn
        else:
            assert trial.drawn["order"] == str(trial.workload.parameters.get("order", 0))
            orders.setdefault(trial.cell_id, set()).add(int(trial.drawn["order"]))
    assert orders
    assert all(len(found) > 15 for found in orders.values())


def test_columns_are_named_by_setting_and_unit() -> None:
    assert list(columns(laws.STANDARD_LAWS).values()) == [
        "drawn.network.rtt_ms",
        "drawn.network.rate_mbit",
        "drawn.network.queue_bytes",
        "drawn.workload.object_bytes",
        "drawn.start_phase_ms",
        "drawn.order",
        "drawn.certificate_bytes",
    ]
    assert columns({}) == {}
