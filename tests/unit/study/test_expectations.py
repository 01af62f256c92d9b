"""The grammar of expectations: every text has one meaning, and a text without one says what is allowed."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longlook.core import Bounds, Expectation, InputError, Problems, SettingError
from longlook.study.catalogue import installed
from longlook.study.expectations import expectations, find_observable, parse
from longlook.study.files import read_study
from longlook.study.plan import make_plan
from longlook.study.virtual_time import check_virtual
from longlook.timeline import OBSERVABLES, Dimension, Form, State

S = 1_000_000_000
CATALOGUE = installed()
TWO_ARMS = Path(__file__).parents[2] / "data" / "tiny.toml"
SCENARIO = """
schema = 1
title = "t"
question = "q"
metrics = ["page_load_time"]
defaults = { protocol = "h3", connection = "cold", client = "quic-go@0.65.0", server = "quic-go@0.65.0" }
workload = { kind = "download", object = "1MB" }
network = { rate = "20Mbit", rtt = "40ms", queue = "1bdp" }
[arms.sender]
"""


def of(quantity: str, text: object) -> Expectation:
    return parse(quantity, text, CATALOGUE)


def problem(quantity: str, text: object) -> str:
    with pytest.raises(SettingError) as error:
        of(quantity, text)
    return error.value.message


def scenario(folder: Path, text: str, name: str = "mine") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(SCENARIO + text)
    return path


@pytest.mark.parametrize(
    ("quantity", "text", "begin_ns", "end_ns", "bounds"),
    [
        ("server_window", "at 2s >= 40 packets", 2 * S, 2 * S, Bounds("packets", low=40)),
        ("window", "from 1.5s < 64KiB", 3 * S // 2, None, Bounds("B", high=65536, high_counts=False)),
        ("client_window", "until 300ms > 10KB", None, 300_000_000, Bounds("B", low=10_000, low_counts=False)),
        ("share", "from 5s within 45 to 55 %", 5 * S, None, Bounds("%", 45, 55)),
        ("share", "between 1s and 2s within 45% to 55 %", S, 2 * S, Bounds("%", 45, 55)),
        ("load", "< 1.2s", None, None, Bounds("s", high=1.2, high_counts=False)),
        ("rate", "from 1 s >= 18 Mbit/s", S, None, Bounds("bit/s", low=18e6)),
        ("stalls", 0, None, None, Bounds("stalls", 0, 0)),
        ("stalls", "<= 2 stalls", None, None, Bounds("stalls", high=2)),
        ("timeouts", "= 0", None, None, Bounds("", 0, 0)),
        ("page_load_time", "within 900 to 1100 ms", None, None, Bounds("s", 0.9, 1.1)),
        ("congestion_window", ">= 20KB", None, None, Bounds("B", low=20_000)),
        ("window", "at 2s >= 90 % of its value at 1s", 2 * S, 2 * S, Bounds("%", low=90, of_ns=S)),
    ],
)
def test_a_text_means_a_time_and_bounds_in_the_base_unit(
    quantity: str, text: object, begin_ns: int | None, end_ns: int | None, bounds: Bounds
) -> None:
    found = of(quantity, text)
    assert (found.begin_ns, found.end_ns, found.bounds, found.once) == (begin_ns, end_ns, bounds, False)
    assert found.text == str(text)


def test_states_are_named_and_may_be_excluded_or_met_once() -> None:
    assert of("state", "at 1s slow_start").states == ("slow_start",)
    once = of("client_state", "until 2s once loss_probe or timeout")
    assert (once.states, once.once, once.never) == (("loss_probe", "timeout"), True, False)
    never = of("state", "never timeout")
    assert (never.states, never.once, never.never) == (("timeout",), False, True)


def test_a_group_of_flows_stands_behind_the_quantity() -> None:
    found = of("state.tcp", "never timeout")
    assert (found.quantity, found.group, found.name) == ("state", "tcp", "state.tcp")
    assert "is of the whole trial" in problem("load.tcp", "< 1s")


@pytest.mark.parametrize(
    ("quantity", "text", "expected"),
    [
        ("windo", ">= 1 packets", "unknown quantity; allowed: \\[client_\\]window, .*did you mean 'window'"),
        ("server_load", "< 1s", "unknown quantity"),
        ("window", "at 2 >= 40 packets", "2: a time needs a unit"),
        ("window", "at 2s >= 40", "40: a size needs a unit.*or a number of packets"),
        ("window", "at 2s >= 40 ms", "unknown unit 'ms' of a size"),
        ("load", "< 1.2 MB", "unknown unit 'MB' of a time"),
        ("load", "< 1.2", "a time needs a unit"),
        ("rate", "from 1s > 10 MB", "B means bytes"),
        ("share", "from 5s within 45 to 55", "not a share: write a percentage"),
        ("share", "at 5s > 45 %", "is of a span of time, not at one moment"),
        ("queue", "at 5s < 45KB", "has a value when something happens"),
        ("load", "from 1s < 2s", "is of the whole load: leave the time out"),
        ("page_load_time", "at 1s < 2s", "is of the whole load"),
        ("window", "between 2s and 1s > 10KB", "the second time must be later"),
        ("window", "within 20KB to 10KB", "the first bound lies above the second"),
        ("window", "within 20KB to 10 packets", "the bounds are in B and in packets"),
        ("window", "about 20KB", "write \\[at TIME"),
        ("window", "at 1s", "there is no condition"),
        ("window", "never > 10KB", "is for states"),
        ("window", "at 1s once > 10KB", "one moment is once"),
        ("timeouts", "once 0", "has one value: leave 'once' out"),
        ("share", "from 1s >= 90 % of its value at 1s", "has no value at one moment"),
        ("state", "once recovry", "is no state.*did you mean 'recovery'"),
        ("state", "unknown", "is no state"),
        ("stalls", "0 s", "stalls is a number, or one in stalls"),
        ("stalls", True, "must be a text or a number"),
        ("stalls", "x" * 201, "up to 200 characters"),
        ("conformance", "> 50 %", "compares arms"),
        ("window", "until 0s > 1KB", "nothing has happened by then"),
    ],
)
def test_a_text_without_a_meaning_says_what_is_wrong(quantity: str, text: object, expected: str) -> None:
    assert re.search(expected, problem(quantity, text), re.DOTALL)


_TIMES = st.integers(0, 10**6).map(lambda value: f"{value}us")
_WHEN = st.one_of(
    st.just(""), _TIMES.map("at {} ".format), _TIMES.map("from {} ".format),
    st.integers(1, 10**6).map("until {}us ".format),
    st.tuples(st.integers(0, 10**5), st.integers(1, 10**5)).map(lambda two: f"between {two[0]}us and {sum(two)}us "),
)  # fmt: skip


@given(_WHEN, st.sampled_from(["<", "<=", ">", ">=", "="]), st.integers(0, 10**9))
def test_a_comparison_of_a_window_holds_as_python_compares(when: str, sign: str, size_bytes: int) -> None:
    bounds = of("window", f"{when}{sign} {size_bytes}B").bounds
    assert bounds is not None
    compare = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__, "=": int.__eq__}[sign]
    for value in (size_bytes - 1, size_bytes, size_bytes + 1):
        close = size_bytes > 10**8  # a difference of one is then below the rounding of a share
        assert bounds.hold(value) is compare(value, size_bytes) or (close and value != size_bytes)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for quantity in ("window", "state", "share", "load", "stalls", "queue"):
        try:
            found = of(quantity, text)
        except SettingError:
            continue
        assert (found.bounds is None) == bool(found.states)


@given(st.sampled_from(sorted(OBSERVABLES)), st.sampled_from(["", "server_", "client_"]))
def test_only_quantities_of_an_end_have_its_name_before_theirs(name: str, prefix: str) -> None:
    found = find_observable(prefix + name)
    if not prefix:
        assert found == (OBSERVABLES[name], "server")
    else:
        assert (found is not None) == OBSERVABLES[name].of_end
        assert found is None or found[1] == prefix.rstrip("_")


def test_every_observable_can_be_read_as_its_form_says() -> None:
    for each in OBSERVABLES.values():
        assert (each.read is not None) == (each.form in (Form.LEVEL, Form.MOMENTS))
        assert (each.total is not None) == (each.form in (Form.TOTAL, Form.WHOLE))
    assert not OBSERVABLES.keys() & CATALOGUE.metrics.keys()
    assert all(not name.startswith(("server_", "client_")) for name in OBSERVABLES)
    assert {each.dimension for each in OBSERVABLES.values()} == set(Dimension) - {Dimension.NUMBER}


def test_a_scenario_has_one_arm_one_round_and_traces(tmp_path: Path) -> None:
    study = read_study(scenario(tmp_path, '[expect]\nload = "< 2s"\nstate = ["never timeout", "once slow_start"]'))
    assert (len(study.arms), study.contrasts, study.rounds, dict(study.around)) == (1, (), 1, {})
    assert (study.capture.qlog, study.capture.tcp) == (True, True)
    assert [factor.name for factor in study.factors] == ["scenario"]
    assert [(each.name, each.text) for each in study.expectations] == [
        ("load", "< 2s"), ("state", "never timeout"), ("state", "once slow_start"),
    ]  # fmt: skip
    plan = make_plan(study)
    assert [trial.cell for trial in plan.trials] == [{"scenario": "mine"}]


def test_expectations_of_arms_and_levels_are_about_their_trials_alone(tmp_path: Path) -> None:
    text = 'expect.load = "< 3s"\n[expect]\nload = "< 2s"\n[[factors]]\nname = "size"\nlevels = [\n'
    text += '{ label = "small", "workload.object" = "10KB", expect.load = "< 1s" },\n'
    text += '{ label = "large", "workload.object" = "1MB" }]\n'
    study = read_study(scenario(tmp_path, text.replace("[expect]", "[expect]", 1)))
    found = {(each.text, each.arm, tuple(each.levels.items())) for each in study.expectations}
    assert found == {("< 2s", "", ()), ("< 3s", "sender", ()), ("< 1s", "", (("size", "small"),))}
    about = [each for each in study.expectations if each.is_about("sender", {"size": "large"})]
    assert [each.text for each in about] == ["< 2s", "< 3s"]
    assert all("expect" not in key for factor in study.factors for level in factor.levels for key in level.sets)
    assert all("expect" not in key for arm in study.arms for key in arm.settings)


def test_expectations_change_neither_trials_nor_plans(tmp_path: Path) -> None:
    before = make_plan(read_study(TWO_ARMS))
    text = TWO_ARMS.read_text().replace("[arms.quic]", '[arms.quic]\nexpect.page_load_time = "< 1s"')
    other = tmp_path / "tiny.toml"
    other.write_text(text + '\n[expect]\npage_load_time = "< 2s"\n')
    study = read_study(other)
    assert len(study.expectations) == 2
    assert make_plan(study) == before


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[expect]\nload = "< 2 MB"', 'mine.toml: expect.load = "< 2 MB": 2 MB: unknown unit'),
        ('[expect]\nwindow = "at 61s > 1 packets"', "no trial lasts that long: timeout = 60 s"),
        ('[expect]\nwindow = "at 1s > 1 packets"\n[capture]\nqlog = false', "needs a trace of the sender"),
        ('[expect]\n"state.tcp" = "never timeout"', "no group of flows 'tcp'; allowed: none"),
        ('expect.loda = "< 2s"', "arms.sender.expect.loda.*unknown quantity"),
        ("", "a comparison needs two arms or more.*expect"),
    ],
)
def test_a_file_says_what_is_wrong_with_its_expectations(tmp_path: Path, text: str, expected: str) -> None:
    path = scenario(tmp_path, text)
    with pytest.raises(InputError) as error:
        read_study(path)
    assert re.search(expected, error.value.message)


def test_a_metric_of_real_time_is_refused_in_virtual_time(tmp_path: Path) -> None:
    study = read_study(scenario(tmp_path, '[expect]\nserver_cpu = "< 1s"'))
    with pytest.raises(InputError, match="server_cpu, which virtual time does not have"):
        check_virtual(study, make_plan(study), "virtual")


def test_a_wrong_expectation_is_one_problem_of_several(tmp_path: Path) -> None:
    problems = Problems("f")
    document: Mapping[str, Any] = {"a": "< 1s", "window": ["at 1s > 1", "at 1s > 1 packets"]}
    found = list(expectations(document, "expect", CATALOGUE, problems))
    assert len(found) == 1 and len(problems.lines) == 2
    assert str(State.UNKNOWN) not in problem("state", "x").partition("allowed")[2]
