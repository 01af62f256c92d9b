"""Study files are found, read, extended and drawn up as a Study."""

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripts import reference
from syrupy.assertion import SnapshotAssertion

from longlook.core.errors import InputError
from longlook.core.model import Claim, Contrast, ExpectedLevel, Figure, Verdict
from longlook.core.problems import Problems
from longlook.core.stack import Version
from longlook.network import settings as network
from longlook.study import files, schema
from longlook.study.catalogue import Catalogue
from longlook.study.files import find_study, list_studies, parse_study, read_study, study_files
from longlook.study.plan import make_plan
from longlook.study.releases import Release, releases_of
from longlook.study.schema import StudyTable, Table
from longlook.study.settings import ENDPOINT_KEYS
from tests.data.studies import CATALOGUE, STUDY, problems, read, study_file


def test_a_study_is_read(tmp_path: Path) -> None:
    study = read(study_file(tmp_path))
    assert study.id == "tiny"
    assert study.timeout_s == 30.0
    assert [arm.label for arm in study.arms] == ["TCP", "quic"]
    assert study.arms[0].settings == {"protocol": "h2", "connection": "cold", "congestion_control": "cubic"}
    assert study.settings == {
        "server": "go",
        "client": "go",
        "network.rtt": "36ms",
        "workload.kind": "page",
        "workload.objects": 1,
        "workload.think": "0ns",
    }
    assert study.figure == Figure("size", ("rate",))
    assert study.claims == (
        Claim("fig1 10Mbit small", "somebody", "quic vs tcp", {"rate": "10Mbit", "size": "small"}, 45.0, True, 2, 99),
        Claim("fig1 10Mbit large", "somebody", "quic vs tcp", {"rate": "10Mbit", "size": "large"}, None, False, 2, 99),
    )


BLOCK = '[[contrasts]]\nname = "quic vs tcp"\nbaseline = "tcp"\ncontender = "quic"\nmetric = "page_load_time"\n'
TITLE = 'title = "A title"\n'


@pytest.mark.parametrize(
    "short", ['[["tcp", "quic"]]', '[{ name = "quic vs tcp", baseline = "tcp", contender = "quic" }]']
)
def test_a_contrast_may_be_a_pair_and_its_metric_is_the_first(tmp_path: Path, short: str) -> None:
    (tmp_path / "long").mkdir()
    path = study_file(tmp_path, (BLOCK, ""), (TITLE, f"{TITLE}contrasts = {short}\n"))
    assert read(path).contrasts == read(study_file(tmp_path / "long")).contrasts


@pytest.mark.parametrize("wrong", ['["tcp"]', '["tcp", "quic", "other"]', '["tcp", 5]'])
def test_what_is_no_pair_is_no_contrast(tmp_path: Path, wrong: str, snapshot: SnapshotAssertion) -> None:
    path = study_file(tmp_path, (BLOCK, ""), (TITLE, f"{TITLE}contrasts = [{wrong}]\n"))
    (line,) = [line for line in problems(path) if "contrasts" in line]
    assert line == snapshot


def test_labels_stay_as_written_and_values_become_canonical(tmp_path: Path) -> None:
    rate = read(study_file(tmp_path)).factors[0]
    assert [(level.label, level.sets) for level in rate.levels] == [
        ("10Mbit", {"network.rate": "10Mbit"}),
        ("50 Mbit/s", {"network.rate": "50Mbit"}),
    ]


def test_a_study_extends_another(tmp_path: Path) -> None:
    study_file(tmp_path, name="base")
    child = tmp_path / "child.toml"
    child.write_text('schema = 1\nextends = "base"\ntitle = "Child"\nclaims = []\n[network]\nloss = "1%"\n')
    study = read(child)
    assert (study.id, study.title, study.claims) == ("child", "Child", ())
    assert (study.settings["network.rtt"], study.settings["network.loss"]) == ("36ms", "1%")
    assert len(study.factors) == 2


def test_extending_in_a_circle_is_an_error(tmp_path: Path) -> None:
    for name, base in (("one", "two"), ("two", "one")):
        (tmp_path / f"{name}.toml").write_text(f'extends = "{base}"\n')
    assert "extend each other in a circle" in problems(tmp_path / "one.toml")[0]


def test_extending_nothing_names_the_nearest(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = tmp_path / "one.toml"
    path.write_text('extends = "dmo"\n')
    assert problems(path)[0] == snapshot


def test_an_unknown_study_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"unknown study 'dem'.*did you mean 'demo'"):
        find_study("dem")
    with pytest.raises(InputError, match="no study file nowhere/x"):
        find_study("nowhere/x")


def test_studies_of_plugin_folders_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "studies").mkdir()
    path = study_file(tmp_path / "studies", name="mine")
    monkeypatch.setenv("LONGLOOK_PLUGINS", str(tmp_path))
    assert study_files()["mine"] == path
    assert find_study("mine", CATALOGUE).id == "mine"


def test_a_duplicate_study_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "studies").mkdir()
    study_file(tmp_path / "studies", name="demo")
    monkeypatch.setenv("LONGLOOK_PLUGINS", str(tmp_path))
    with pytest.raises(InputError, match="study 'demo' exists twice"):
        list_studies(CATALOGUE)


ROOT = Path(files.__file__).parents[3]
PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text() for name in ("reference/study-keys", "tutorial/first-study")}


def test_every_key_of_the_format_is_documented() -> None:
    # Files of users and findings have tables of their own, with pages of their own.
    tables: list[type[Table]] = [each for each in Table.__subclasses__() if each.__module__ == StudyTable.__module__]
    keys = {field.alias or name for table in tables for name, field in table.model_fields.items()}
    keys |= {key.split(".")[-1] for key in network.SETTINGS} | set(ENDPOINT_KEYS)
    page = PAGES["reference/study-keys"]
    assert [key for key in sorted(keys) if f"`{key}`" not in page and f"[{key}" not in page] == []


def test_the_keys_of_each_table_are_those_of_its_shape() -> None:
    texts = tomllib.loads((ROOT / "src" / "longlook" / "study" / "keys.toml").read_text())
    inner = {"arms", "defaults", "workload", "network", "behind", "second", "factors", "exclude", "contrasts"}
    inner |= {"analysis", "capture", "figure", "population", "claims", "hypotheses"}  # each has a heading of its own
    for name, (_, shape) in reference.KEY_TABLES.items():
        if shape:
            fields = {field.alias or key for key, field in getattr(schema, shape).model_fields.items()}
            explained = [key for row in texts[name] for key in row["keys"]]
            assert sorted(explained) == sorted(fields - inner if name == "study" else fields)


def test_the_documented_study_reads(tmp_path: Path) -> None:
    path = tmp_path / "documented.toml"
    path.write_text(PAGES["tutorial/first-study"].split("```toml\n")[1].split("```")[0])
    assert len(read_study(path).factors[0].levels) == 3


JUNK = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6), st.just("network.rate")
    ),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=6), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a document."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places(value[key])


@settings(max_examples=200)
@given(st.data())
def test_whatever_a_file_holds_is_a_study_or_an_input_error(data: st.DataObject) -> None:
    document = tomllib.loads(STUDY)
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(list(places(document))))
        container[key] = data.draw(JUNK)
    try:
        study = parse_study("fuzzed", document, Problems("fuzzed.toml"), CATALOGUE)
    except InputError as error:
        assert error.message
    else:
        assert make_plan(study, (), CATALOGUE).trials


NEIGHBOURS = 'name = "steps"\nneighbours = "all"\nmetric = "page_load_time"'
PAIR = 'name = "quic vs tcp"\nbaseline = "tcp"\ncontender = "quic"\nmetric = "page_load_time"'


def chained(folder: Path, *replacements: tuple[str, str]) -> Path:
    """The small study with neighbours for its contrast, and so without claims."""
    path = study_file(folder, (PAIR, NEIGHBOURS), *replacements)
    path.write_text(path.read_text().partition("[[claims]]")[0])
    return path


def test_neighbours_are_a_family_of_contrasts(tmp_path: Path) -> None:
    third = "[defaults]", '[arms.third]\nprotocol = "h3"\nconnection = "resumed"\n\n[defaults]'
    study = read(chained(tmp_path, third))
    assert study.contrasts == (
        Contrast("steps: tcp → quic", "tcp", "quic", "page_load_time", "steps"),
        Contrast("steps: quic → third", "quic", "third", "page_load_time", "steps"),
    )
    named = read(chained(tmp_path, third, ('"all"', '["third", "tcp"]\nfamily = "other"')))
    assert named.contrasts == (Contrast("steps: third → tcp", "third", "tcp", "page_load_time", "other"),)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('neighbours = "all"', 'neighbours = "all"\nbaseline = "tcp"', "must not have baseline or contender"),
        ('neighbours = "all"', 'neighbours = ["tcp"]', "two arms or more"),
        ('neighbours = "all"', 'neighbours = ["tcp", "quik"]', "did you mean 'quic'?"),
        ('neighbours = "all"', 'baseline = "tcp"', "missing: baseline and contender, or neighbours"),
    ],
)
def test_neighbours_that_cannot_be(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert any(message in line for line in problems(chained(tmp_path, (old, new))))


TREND = '\n[figure]\nkind = "trend"\ncolumns = "size"\nrows = ["rate"]\n'


def dated() -> Catalogue:
    """The catalogue with dates for the versions of `go`."""
    versions = (Version("1.0", "2020-01-02"), Version("2.0", "2023-04-05"))
    return replace(CATALOGUE, stacks={**CATALOGUE.stacks, "go": replace(CATALOGUE.stacks["go"], versions=versions)})


def test_a_trend_knows_when_its_arms_were_released(tmp_path: Path) -> None:
    path = study_file(tmp_path, ('protocol = "h2"', 'protocol = "h2"\nserver = "go@1.0"'), more=TREND)
    study = read_study(path, dated())
    assert study.figure.kind == "trend"
    assert releases_of(study, dated()) == {
        "tcp": Release("go@1.0", "2020-01-02"),
        "quic": Release("go@2.0", "2023-04-05"),
    }
    assert releases_of(replace(study, figure=Figure("size", ("rate",))), dated()) == {}


def test_a_trend_needs_dates_and_arms_that_keep_their_programs(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert any("no date of release" in line for line in problems(study_file(tmp_path, more=TREND)))
    factor = '\n[[factors]]\nname = "who"\nsets = "client"\nlevels = ["go@1.0", "go@2.0"]\n'
    path = study_file(tmp_path, more=TREND.replace('["rate"]', '["rate", "who"]') + factor)
    path.write_text(path.read_text().partition("[[claims]]")[0] + TREND.replace('["rate"]', '["rate", "who"]') + factor)
    assert problems(path) == snapshot


LEVELS = """
[[claims]]
id = "table 2"
source = "somebody"
arm = "quic"
cell = { rate = "10Mbit", size = "small" }
metrics.page_load_time = { published = 1.5, at_least = 1 }
metrics.handshake_time = { at_most = 0.1 }
"""


def test_a_claim_may_speak_of_the_level_of_one_arm(tmp_path: Path) -> None:
    claims = read(study_file(tmp_path, more=LEVELS)).claims
    (first, second) = [claim for claim in claims if claim.expected is not None]
    assert first.id == "table 2 quic page_load_time" and first.contrast == ""
    assert first.expected == ExpectedLevel("quic", "page_load_time", 1.5, at_least=1.0)
    assert second.expected == ExpectedLevel("quic", "handshake_time", None, at_most=0.1)
    assert {claim.origin for claim in claims} == {"published"}


@pytest.mark.parametrize(("key", "origin"), [("derived", "derived"), ("read_as", "read as")])
def test_a_number_that_the_source_does_not_have_says_whose_it_is(tmp_path: Path, key: str, origin: str) -> None:
    claims = read(study_file(tmp_path, more=LEVELS.replace("published", key))).claims
    (level,) = [claim for claim in claims if claim.expected is not None and claim.expected.published is not None]
    assert (level.origin, level.expected and level.expected.published) == (origin, 1.5)
    effects = read(study_file(tmp_path, ('uncertainty = "2%"', f'origin = "{key}"'))).claims
    assert {claim.origin for claim in effects} == {origin}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('arm = "quic"', 'arm = "quick"', "no such arm"),
        ("metrics.handshake_time", "metrics.handshake", "not among this study's metrics"),
        ("{ at_most = 0.1 }", "{ published = 0.1 }", "has no bounds"),
        ("published = 1.5", "published = 1.5, derived = 1.4", "has published and derived: a number has one origin"),
        ('arm = "quic"', 'arm = "quic"\norigin = "derived"', "of a level its key tells it"),
        ('arm = "quic"', 'arm = "quic"\norigin = "guessed"', "allowed: published, derived, read_as"),
        ("{ at_most = 0.1 }", "{ at_least = 1, at_most = 0.1 }", "above at_most"),
        ('arm = "quic"', 'arm = "quic"\ncontrast = "quic vs tcp"', "about an arm"),
        ('arm = "quic"\n', "", "missing, or arm and metrics"),
        (', size = "small"', "", "names no level of size"),
    ],
)
def test_what_a_claim_about_a_level_lacks_is_reported(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in LEVELS
    assert any(message in line for line in problems(study_file(tmp_path, more=LEVELS.replace(old, new, 1))))


def test_a_direction_needs_no_number(tmp_path: Path) -> None:
    claims = read(study_file(tmp_path, ('large = "ns"', 'large = "-"'))).claims
    assert [(claim.effect_pct, claim.direction) for claim in claims] == [(45.0, None), (None, Verdict.WORSE)]


def test_a_claim_counts_under_a_name_with_the_levels_of_its_cell(tmp_path: Path) -> None:
    named = 'uncertainty = "2%"\ncounts_as = "fig. 1: {rate}, {size}"'
    claims = read(study_file(tmp_path, ('uncertainty = "2%"', named))).claims
    assert [claim.statement for claim in claims] == ["fig. 1: 10Mbit, small", "fig. 1: 10Mbit, large"]
    once = read(study_file(tmp_path, ('uncertainty = "2%"', 'uncertainty = "2%"\ncounts_as = "once"'))).claims
    assert {claim.statement for claim in once} == {"once"}
    level = read(study_file(tmp_path, more=LEVELS.replace('arm = "quic"', 'arm = "quic"\ncounts_as = "at {rate}"')))
    assert [claim.statement for claim in level.claims if claim.expected is not None] == ["at 10Mbit", "at 10Mbit"]


def test_a_name_to_count_under_has_only_factors_of_its_cell(tmp_path: Path) -> None:
    wrong = 'uncertainty = "2%"\ncounts_as = "fig. 1: {rates}"'
    found = problems(study_file(tmp_path, ('uncertainty = "2%"', wrong)))
    assert any("counts_as" in line and "no factor here" in line and "rate" in line for line in found), found
