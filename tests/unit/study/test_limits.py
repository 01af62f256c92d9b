"""Study files that are hostile or absurd end in a sentence with key and reason, soon, and never in a traceback."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from longlook.core import units
from longlook.core.document import LONGEST_KEY, MOST_BYTES, MOST_ENTRIES
from longlook.core.errors import InputError
from longlook.study.files import find_study
from longlook.study.plan import MOST_TRIALS, MOST_TRIALS_ASKED_FOR, make_plan
from tests.conftest import TINY
from tests.data.studies import CATALOGUE, STUDY, problems, read, study_file

TITLE = 'title = "A title"'
ROUNDS = "rounds = 3"
RTT = 'rtt = "36ms"'
LEVELS = 'levels = ["10Mbit", "50 Mbit/s"]'
THOUSANDS = ", ".join(f'"{number}Mbit"' for number in range(1, 1002))


@pytest.mark.parametrize(
    ("replacement", "parts"),
    [
        ((ROUNDS, "rounds = 99999999999999999999"), ["rounds", "too large"]),
        ((ROUNDS, f"rounds = 0x{'f' * 6000}"), ["rounds", "too large"]),
        ((ROUNDS, f"rounds = {'9' * 6000}"), ["too large"]),
        ((ROUNDS, "rounds = 2000000"), ["rounds = 2000000", "less than or equal to 100000"]),
        ((ROUNDS, "rounds = inf"), ["rounds", "finite"]),
        ((ROUNDS, "rounds = nan"), ["rounds", "finite"]),
        ((ROUNDS, "rounds = 1979-05-27"), ["rounds", "is a date"]),
        ((ROUNDS, "rounds = 07:32:00"), ["rounds", "time of day"]),
        ((ROUNDS, f"rounds = {'[' * 100}{']' * 100}"), ["rounds[0][0]", "nested too deeply"]),
        ((ROUNDS, f"rounds = {'[' * 5000}{']' * 5000}"), ["nested too deeply"]),
        ((ROUNDS, f"rounds = {'{a=' * 3000}1{'}' * 3000}"), ["nested too deeply"]),
        ((ROUNDS, f"rounds.{'.'.join('a' * 5000)} = 1"), ["nested too deeply"]),
        ((ROUNDS, f"rounds = [{'1,' * (MOST_ENTRIES + 1)}]"), ["rounds: 10001 entries"]),
        ((ROUNDS, f'notes = "{"x" * 200_000}"'), ["notes: a text of 200000 characters"]),
        ((ROUNDS, f"{'k' * (LONGEST_KEY + 1)} = 1"), ["a key of 201 characters"]),
        (("schema = 1", "schema = true"), ["schema = true", "must be a whole number"]),
        (("schema = 1", "schema = 1.0"), ["schema = 1.0", "must be a whole number"]),
        ((TITLE, f'title = "{"x" * 201}"'), ["title", "one line of text, of at most 200 characters"]),
        ((TITLE, r'title = "two\nlines"'), ["title", "one line of text"]),
        ((TITLE, r'title = "\u001b[31mred"'), ["title", r"\x1b[31mred", "control characters"]),
        ((TITLE, r'title = "\u202etxt"'), ["title", r"\u202etxt", "control characters"]),
        ((TITLE, '"\\u001b]0;x" = 1\n' + TITLE), [r"\x1b]0;x", "a key has control characters"]),
        ((RTT, 'rtt = "٣٦ms"'), ["network.rtt", "not a time"]),
        ((RTT, 'rtt = "²ms"'), ["network.rtt", "not a time"]),
        ((RTT, f'rtt = "{"9" * 30}ms"'), ["network.rtt", "at most 9223372036854775807 nanoseconds"]),
        ((RTT, f'rtt = "{"9" * 5000}ms"'), ["network.rtt", "not a time"]),
        ((RTT, f'rtt = "1.{"1" * 300}ms"'), ["network.rtt", "too many digits"]),
        ((RTT, f'rtt = "1ms"\nqueue = "{"9" * 50}packets"'), ["network.queue", "too many digits"]),
        ((RTT, f'rtt = "1ms"\nqueue = "{"9" * 30}GB"'), ["network.queue", "at most 9223372036854775807 bytes"]),
        ((RTT, 'rtt = "1ms"\n"down.rate" = "1Mbit"\ndown.rate = "2Mbit"'), ["network.down.rate", "given twice"]),
        (("objects = 1", 'object_bytes = "5KB"\nobject = "5KB"'), ["workload.object", "sets the same as"]),
        (('timeout = "30s"', 'timeout = "1000000s"'), ["timeout", "less than or equal to 86400"]),
        ((LEVELS, f"levels = [{THOUSANDS}]"), ["factors.rate.levels", "1000 items"]),
        ((LEVELS, f'levels = ["{"1" * 300}Mbit"]'), ["factors.rate.levels[0].label", "at most 200 characters"]),
    ],
)
def test_what_is_beyond_the_limits_is_refused_with_its_key(
    tmp_path: Path, replacement: tuple[str, str], parts: list[str]
) -> None:
    lines = problems(study_file(tmp_path, replacement))
    assert any(all(part in line for part in parts) for line in lines), lines
    assert max(map(len, lines)) < 1000


def test_a_file_that_is_too_long_is_not_read_to_its_end(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = study_file(tmp_path)
    path.write_text(STUDY + "#" * MOST_BYTES)
    assert problems(path) == snapshot


def test_levels_that_make_too_many_cells_are_refused_before_any_is_made(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    more = "".join(
        f'[[factors]]\nname = "f{n}"\nsets = "server_knobs.streams"\nlevels = {list(range(10))}\n' for n in range(20)
    )
    lines = problems(study_file(tmp_path, more=more))
    assert lines == snapshot


def test_a_file_with_a_thousand_mistakes_names_the_first_hundred(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    more = "".join(f'[[contrasts]]\nname = "c{n}"\nbaseline = "a"\ncontender = "b"\nmetric = "m"\n' for n in range(900))
    lines = problems(study_file(tmp_path, more=more))
    assert len(lines) == 101
    assert lines[-1] == snapshot


@pytest.mark.parametrize("how", ["relative", "absolute", "link"])
def test_extending_in_a_circle_is_found_on_any_path(tmp_path: Path, how: str) -> None:
    (tmp_path / "below").mkdir()
    one, two = tmp_path / "one.toml", tmp_path / "below" / "two.toml"
    one.write_text('extends = "below/two"\n')
    alias = tmp_path / "alias.toml"
    alias.symlink_to(one)
    base = {"relative": "../below/../one", "absolute": str(one), "link": str(alias)}[how]
    two.write_text(f'extends = "{base.removesuffix(".toml")}"\n')
    assert "extend each other in a circle" in problems(one)[0]


def test_a_long_row_of_extended_studies_is_refused(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"s{number}.toml").write_text(f'extends = "s{number + 1}"\n')
    assert "at most 16 studies in a row" in problems(tmp_path / "s0.toml")[0]


@pytest.mark.parametrize("base", ["x" * 5000, "a\\u0000b", "/", "..", "/dev/zero"])
def test_extending_what_can_be_no_file_is_an_error(tmp_path: Path, base: str) -> None:
    (tmp_path / "one.toml").write_text(f'extends = "{base}"\n')
    assert problems(tmp_path / "one.toml")


def test_changes_are_held_to_the_same_limits(tmp_path: Path) -> None:
    for value in ("9" * 5000, "[" * 5000, "inf", "9" * 30):
        assert problems(study_file(tmp_path), changes={"seed": value})


def test_many_trials_must_be_asked_for_and_millions_are_refused(tmp_path: Path) -> None:
    study = read(study_file(tmp_path, (ROUNDS, "rounds = 20000")))
    with pytest.raises(InputError, match="160000 trials, more than 100000 must be asked for") as error:
        make_plan(study, catalogue=CATALOGUE)
    assert error.value.hint and "--many" in error.value.hint
    study = read(study_file(tmp_path, ("rounds = 3", "rounds = 100000"), ('"50 Mbit/s"', '"50 Mbit/s", "60Mbit"')))
    with pytest.raises(InputError, match=f"1200000 trials; allowed: at most {MOST_TRIALS_ASKED_FOR}"):
        make_plan(study, catalogue=CATALOGUE, most=MOST_TRIALS_ASKED_FOR)
    assert MOST_TRIALS == 100_000


SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.from_regex(r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?(ns|ms|s|B|KB|Mbit|%|bdp|packets)?", fullmatch=True),
    st.sampled_from(["off", "random(9s)", "uniform(1ms, 2ms, 1s)", "steps(0s 1Mbit)", "trace(/)", "pareto(1KB, 1.1)"]),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
)
PLACES = [
    *("schema", "title", "rounds", "max_rounds", "seed", "timeout", "retries_when_invalid", "around", "metrics"),
    *("arms", "arms.tcp", "arms.tcp.label", "arms.tcp.protocol", "arms.tcp.client_cpu", "arms.quic.split"),
    *("arms.tcp.flows.a.count", "arms.tcp.tcp", "defaults", "defaults.server", "defaults.stale_tickets"),
    *("workload", "workload.kind", "workload.objects", "workload.object", "network", "network.rtt", "network.queue"),
    *("network.loss", "network.jitter", "network.down.rate", "network.surgery.up", "network.preset", "capture.qlog"),
    *("factors", "exclude", "contrasts", "claims", "analysis", "analysis.alpha", "figure", "figure.columns", "extends"),
]


def toml_text(value: Any) -> str:
    """A value in TOML's notation."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_text, value)) + "]"
    return repr(value) if isinstance(value, float) else json.dumps(value)


@settings(max_examples=150)
@given(st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=2))
def test_a_study_file_with_any_values_is_a_study_or_names_its_problems(
    tmp_path_factory: pytest.TempPathFactory, changed: list[tuple[str, Any]]
) -> None:
    import tomllib

    document = tomllib.loads(STUDY)
    for place, value in changed:
        *parents, last = place.split(".")
        here: Any = document
        for parent in parents:
            here = here.setdefault(parent, {}) if isinstance(here, dict) else {}
        if isinstance(here, dict):
            here[last] = value
    path = tmp_path_factory.mktemp("fuzz") / "fuzz.toml"
    path.write_text("\n".join(f"{json.dumps(key)} = {toml_text(value)}" for key, value in document.items()))
    try:
        make_plan(read(path), catalogue=CATALOGUE)
    except InputError as error:
        assert "fuzz" in error.message  # the file or the study
        assert error.hint
        assert all(len(line) < 5000 for line in error.message.splitlines())


def test_a_schedule_of_thousands_of_steps_is_read_once_for_a_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, not timed: each notation of it, as written and as printed, is parsed once, however many the trials."""
    steps = 5_000
    schedule = ", ".join(f"{number}ms {1 + number % 2}Mbit" for number in range(steps))
    text = TINY.read_text()
    assert text.count('rate = "50Mbit"') == 1
    (tmp_path / "steps.toml").write_text(text.replace('rate = "50Mbit"', f'rate = "steps(0s{schedule[3:]})"'))
    calls = Counter[str]()
    parse_time = units.parse_time

    def counted(value: object) -> int:
        calls[str(value)] += 1
        return parse_time(value)

    monkeypatch.setattr(units, "parse_time", counted)
    study = find_study(str(tmp_path / "steps.toml"), rounds=3)
    trials = make_plan(study).trials
    assert len(trials) == 12
    assert len(calls) >= steps
    assert max(calls[f"{number}ms"] for number in range(100, steps)) <= 2
