import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.core.errors import InputError
from longlook.core.model import Claim, Contrast, Expected, Figure, Study, Verdict
from longlook.core.problems import Problems
from longlook.core.stack import Version
from longlook.network import settings as network
from longlook.study import files
from longlook.study.catalogue import Catalogue
from longlook.study.files import find_study, list_studies, parse_study, read_study, study_files
from longlook.study.plan import make_plan
from longlook.study.releases import Release, releases
from longlook.study.schema import StudyTable, Table
from longlook.study.settings import ENDPOINT_KEYS
from tests.data.studies import CATALOGUE, STUDY, study_file


def read(path: Path, **options: object) -> Study:
    return read_study(path, CATALOGUE, **options)  # type: ignore[arg-type]


def problems(path: Path, **options: object) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(path, **options)
    assert caught.value.exit_code == 2
    return caught.value.message.splitlines()


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


def test_labels_stay_as_written_and_values_become_canonical(tmp_path: Path) -> None:
    rate = read(study_file(tmp_path)).factors[0]
    assert [(level.label, level.sets) for level in rate.levels] == [
        ("10Mbit", {"network.rate": "10Mbit"}),
        ("50 Mbit/s", {"network.rate": "50Mbit"}),
    ]


ONE_PROBLEM = [
    # what is replaced, by what, and the parts of the one line that must come
    ("rounds = 3", "rouns = 3", ["rouns = 3", "unknown key", "allowed:", "did you mean 'rounds'?"]),
    ("rounds = 3", "rounds = 0", ["rounds = 0", "greater than or equal to 1"]),
    ("rounds = 3", 'rounds = "3"', ['rounds = "3"', "must be a whole number"]),
    ("schema = 1", "schema = 2", ["schema = 2", "allowed: 1"]),
    ('timeout = "30s"', "timeout = 30", ["timeout = 30", "needs a unit"]),
    ('timeout = "30s"', 'timeout = "0s"', ["timeout", "greater than 0"]),
    ('title = "A title"', "", ["title: missing"]),
    ('rtt = "36ms"', 'rrt = "36ms"', ['network.rrt = "36ms"', "unknown key", "did you mean 'network.rtt'?"]),
    ('rtt = "36ms"', 'rtt = "36Mbit"', ['network.rtt = "36Mbit"', "unknown unit 'Mbit' of a time"]),
    ('rtt = "36ms"', 'loss = "1%"', ["network.rtt: missing", '"36ms"']),
    ('"10Mbit", "50', '"-10Mbit", "50', ["factors.rate.levels[0].network.rate", "-10Mbit", "cannot be negative"]),
    ('"10Mbit", "50', '"0Mbit", "50', ["factors.rate.levels[0].network.rate", "above zero"]),
    ('rtt = "36ms"', 'rtt = "36ms"\nloss = "101%"', ['network.loss = "101%"', "between 0% and 100%"]),
    ('rtt = "36ms"', 'rtt = "0ms"\njitter = "5ms"', ['network.jitter = "5ms"', "delay up is only 0ns", "raise"]),
    ('rtt = "36ms"', 'rtt = "36ms"\nqueue = "1KB"', ['network.queue = "1KB"', "smaller than one packet (1500B)"]),
    ('rtt = "36ms"', 'rtt = "36ms"\nqueue = "0bdp"', ['network.queue = "0bdp"', "1500B"]),
    ('rtt = "36ms"', 'rtt = "36ms"\njitter_reorders = 1', ["network.jitter_reorders = 1", "true or false"]),
    ('rtt = "36ms"', 'rtt = "36ms"\naccess_delay = "packets"', ["network.access_delay", '"off", "packet" or "auto"']),
    ('rtt = "36ms"', 'rtt = "36ms"\naccess_delay = 500', ["network.access_delay = 500", "needs a unit", '"packet"']),
    ('rtt = "36ms"', 'rtt = "36ms"\naccess_dely = "off"', ["network.access_dely", "mean 'network.access_delay'?"]),
    ('levels = ["10Mbit", "50 Mbit/s"]', "levels = []", ["factors.rate.levels = []", "must not be empty"]),
    ('"10Mbit", "50 Mbit/s"', '"10Mbit", "10Mbit"', ["factors.rate.levels", "two levels have this label"]),
    ('"50 Mbit/s"', '"10mbit"', ["factors.rate.levels", "'10Mbit' and '10mbit' are the same"]),
    ('sets = "network.rate"', 'sets = "network.rat"', ["factors.rate.levels[0].network.rat", "'network.rate'?"]),
    ('sets = "network.rate"', 'sets = "netwrk"', ["factors.rate.levels[0].netwrk", "unknown setting"]),
    ('sets = "network.rate"', 'sets = "workload.kind"', ["one kind of workload"]),
    ('sets = "network.rate"', "", ["factors.rate.sets is missing"]),
    ('label = "small", ', "", ["factors.size.levels[0].label: missing"]),
    (', workload.object = "5KB" }', " }", ["factors.size.levels[0]: sets nothing"]),
    ('contender = "quic"', 'contender = "quik"', ['contender = "quik"', "allowed: tcp, quic", "mean 'quic'?"]),
    ('contender = "quic"', 'contender = "tcp"', ["is the baseline too"]),
    ('metric = "page_load_time"', 'metric = "page_lod_time"', ["not among", "did you mean 'page_load_time'?"]),
    ('"handshake_time"]', '"handshak_time"]', ["unknown metric", "did you mean 'handshake_time'?"]),
    ("small = 45", "smal = 45", ["claims.fig1 10Mbit smal.size", "no such level", "did you mean 'small'?"]),
    ("small = 45", "small = 120", ["lies beyond clipped_at"]),
    ("small = 45", 'small = "nx"', ["claims.fig1.effect_pct.10Mbit.small", "nx"]),
    ('columns = "size"\neffect', 'columns = "seize"\neffect', ["no factor 'seize'", "did you mean 'size'?"]),
    ('contrast = "quic vs tcp"', 'contrast = "quic"', ["no such contrast"]),
    ('kind = "page"', 'kind = "pag"', ['workload.kind = "pag"', "did you mean 'page'?"]),
    ('kind = "page"', "", ["workload.kind: missing", "page"]),
    ("objects = 1", "objekts = 1", ["workload.objekts = 1", "did you mean 'objects'?"]),
    ("objects = 1", "objects = 0", ["workload.objects = 0", "at least 1"]),
    ("objects = 1", "objects = 1.5", ["workload.objects = 1.5", "whole number"]),
    ("objects = 1", "", ["workload.objects: workload page needs it"]),
    ('workload.object = "5KB"', 'workload.object = "5B"', ["workload.object", "must be at least 68B"]),
    ('congestion_control = "cubic"', "", ["arms.tcp.congestion_control: missing", "must be explicit"]),
    ('congestion_control = "cubic"', 'congestion_control = "cubik"', ["allowed:", "did you mean 'cubic'?"]),
    ('"h3"', '"h3"\ncongestion_control = "bbr"', ["arms.quic.congestion_control", "kernel's TCP"]),
    ('connection = "cold"', 'connection = "0rtt"', ["arms.tcp.connection", "runs over TCP", "cold, resumed"]),
    ('"h3"\nconnection = "cold"', '"h3"', ["arms.quic.connection: missing", "[defaults]"]),
    ('"h3"\nconnection = "cold"', '"h3"\nconnection = "1rtt"', ['connection = "1rtt"', "did you mean '0rtt'?"]),
    ('protocol = "h3"', 'protocol = "h4"', ['arms.quic.protocol = "h4"', "no stack speaks it", "allowed: h2, h3"]),
    ('server = "go"', 'server = "goo"', ['server = "goo"', "no stack 'goo'", "did you mean 'go'?"]),
    ('server = "go"', 'server = "go@3.0"', ["no version '3.0'", "allowed: 1.0, 2.0"]),
    ('server = "go"', 'server = "browser"', ["has no server"]),
    ('protocol = "h3"', 'protocol = "h3"\nserver_knobs.windw = 1', ["arms.quic.server_knobs.windw", "mean 'window'?"]),
    ('protocol = "h3"', 'protocol = "h3"\nserver_knobs.window = 1', ["at least 1024", "bytes"]),
    ('protocol = "h3"', 'protocol = "h3"\nserver_knobs.window = "1kb"', ["server_knobs.window", "did you mean '1KB'?"]),
    ('protocol = "h3"', 'protocol = "h3"\nserver_knobs.gso = 1', ["must be true or false"]),
    ('protocol = "h3"', 'protocol = "h3"\nserver_knobs.cc = "cubik"', ["did you mean 'cubic'?"]),
    ('protocol = "h3"', 'protocol = "h3"\nclient_knobs.streams = 3', ["client go has no such knob"]),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "parts"), ONE_PROBLEM, ids=lambda value: str(value)[:40])
def test_one_mistake_is_one_line_that_says_all(tmp_path: Path, old: str, new: str, parts: list[str]) -> None:
    lines = problems(study_file(tmp_path, (old, new)))
    matching = [line for line in lines if all(part in line for part in parts)]
    assert matching, lines
    assert all(line.startswith("tiny.toml: ") for line in lines)


def test_all_problems_of_a_file_come_in_one_message(tmp_path: Path) -> None:
    path = study_file(
        tmp_path,
        ("rounds = 3", "rouns = 3"),
        ('timeout = "30s"', "timeout = 30"),
        ('rtt = "36ms"', 'rtt = "36"\nloss = "2"\nqeue = "1bdp"'),
        ('"cubic"', '"qubic"'),
        ('baseline = "tcp"', 'baseline = "tpc"'),
        ("small = 45", "smal = 45"),
    )
    assert [line.split(" = ")[0].removeprefix("tiny.toml: ") for line in problems(path)] == [
        "timeout",
        "rouns",
        "arms.tcp.congestion_control",
        "network.rtt",
        "network.loss",
        "network.qeue",
        "contrasts.quic vs tcp.baseline",
        "claims.fig1 10Mbit smal.size",
    ]


def test_names_and_combinations_are_told_together(tmp_path: Path) -> None:
    path = study_file(tmp_path, ('baseline = "tcp"', 'baseline = "tpc"'), ('congestion_control = "cubic"', ""))
    assert [line.split(" ")[1] for line in problems(path)] == ["contrasts.quic", "arms.tcp.congestion_control:"]


def test_one_arm_is_no_comparison(tmp_path: Path) -> None:
    path = study_file(tmp_path, ('[arms.quic]\nprotocol = "h3"\nconnection = "cold"\n', ""))
    assert any("arms: a comparison needs two arms or more, here: tcp" in line for line in problems(path))


def test_text_that_is_not_toml_is_told_with_line_and_column(tmp_path: Path) -> None:
    (line,) = problems(study_file(tmp_path, ("rounds = 3", "rounds 3")))
    assert "tiny.toml: not TOML" in line
    assert "(at line 5, column 8)" in line


def test_a_file_that_is_not_text_is_told(tmp_path: Path) -> None:
    path = tmp_path / "bytes.toml"
    path.write_bytes(b"\xff\xfe\x00")
    assert "not TOML" in problems(path)[0]


def test_two_factors_must_not_set_one_key(tmp_path: Path) -> None:
    more = '[[factors]]\nname = "again"\nsets = "network.rate"\nlevels = ["1Mbit"]\n'
    lines = problems(study_file(tmp_path, more=more))
    assert any("factors.again: sets network.rate, which factors.rate sets too" in line for line in lines)


def test_an_arm_and_a_factor_must_not_set_one_key(tmp_path: Path) -> None:
    more = '[[factors]]\nname = "state"\nsets = "connection"\nlevels = ["cold", "resumed"]\n'
    lines = problems(study_file(tmp_path, more=more))
    assert any("arms.tcp: sets connection, which factors.state sets too" in line for line in lines)


def test_what_a_level_makes_impossible_is_told_at_the_level(tmp_path: Path) -> None:
    more = '[[factors]]\nname = "client"\nsets = "client"\nlevels = ["go", "h3only"]\n'
    path = study_file(tmp_path, ('client = "go"\n', ""), ("[[claims]]", "[[ignored]]"), more=more)
    path.write_text(path.read_text().split("[[ignored]]")[0] + more)
    assert problems(path) == [
        'tiny.toml: arms.tcp.protocol = "h2": client h3only does not speak it, but h3',
    ]


FETCH = ('kind = "page"\nobjects = 1', 'kind = "fetch"\nconnections = 4')


def test_a_client_that_opens_one_connection_is_told(tmp_path: Path) -> None:
    path = study_file(tmp_path, FETCH, ('client = "go"', 'client = "browser"'))
    assert problems(path) == [
        "tiny.toml: workload.connections = 4: client browser opens one connection only; clients that open several: go"
    ]
    assert read(study_file(tmp_path, FETCH)).settings["workload.connections"] == 4


@pytest.mark.parametrize(("connections", "said"), [("0", "at least 1"), ("65", "at most 64"), ('"2"', "whole number")])
def test_a_number_of_connections_that_cannot_be_is_told(tmp_path: Path, connections: str, said: str) -> None:
    path = study_file(tmp_path, (FETCH[0], FETCH[1].replace("4", connections)))
    assert any("workload.connections" in line and said in line for line in problems(path))


def test_excluding_everything_is_an_error(tmp_path: Path) -> None:
    more = '[[exclude]]\nsize = ["small", "large"]\n'
    assert any("exclude: leaves no cell" in line for line in problems(study_file(tmp_path, more=more)))


def test_excluding_what_does_not_exist_is_an_error(tmp_path: Path) -> None:
    lines = problems(study_file(tmp_path, more='[[exclude]]\nsize = "smal"\nrat = "10Mbit"\n'))
    assert any('exclude[0].size = "smal": no such level' in line and "'small'?" in line for line in lines)
    assert any("no factor 'rat'" in line and "'rate'?" in line for line in lines)


def test_a_claim_on_an_excluded_cell_is_an_error(tmp_path: Path) -> None:
    lines = problems(study_file(tmp_path, more='[[exclude]]\nsize = "small"\nrate = "10Mbit"\n'))
    assert lines == ["tiny.toml: claims.fig1 10Mbit small: this cell is excluded"]


def test_a_claim_must_name_a_level_of_every_factor(tmp_path: Path) -> None:
    more = '[[factors]]\nname = "loss"\nsets = "network.loss"\nlevels = ["0%", "1%"]\n'
    lines = problems(study_file(tmp_path, more=more))
    assert any('names no level of loss: add cell = { loss = "…" }' in line for line in lines)


def test_a_figure_places_every_factor_once(tmp_path: Path) -> None:
    lines = problems(study_file(tmp_path, more='[figure]\ncolumns = "rate"\nrows = ["rate", "siz"]\n'))
    assert any('figure.rows = "siz": no such factor' in line for line in lines)
    assert any('figure = "rate": placed twice' in line for line in lines)
    assert any("'size' is neither in columns nor in rows" in line for line in lines)


def test_a_matrix_may_name_one_of_the_studys_metrics(tmp_path: Path) -> None:
    axes = 'columns = "size"\nrows = ["rate"]\n'
    named = read(study_file(tmp_path, more=f'[figure]\nkind = "matrix"\nmetric = "page_load_time"\n{axes}'))
    assert named.figure == Figure("size", ("rate",), "matrix", "page_load_time")
    assert read(study_file(tmp_path, more=f'[figure]\nkind = "matrix"\n{axes}')).figure.metric == ""
    (line,) = problems(study_file(tmp_path, more=f'[figure]\nkind = "matrix"\nmetric = "page_load_tim"\n{axes}'))
    assert 'figure.metric = "page_load_tim": not among this study' in line
    assert "page_load_time" in line
    (line,) = problems(study_file(tmp_path, more=f'[figure]\nmetric = "page_load_time"\n{axes}'))
    assert 'figure.metric = "page_load_time": is for kind = "matrix"; this figure is a heatmap' in line
    (line,) = problems(study_file(tmp_path, more=f'[figure]\nkind = "matrx"\n{axes}'))
    assert 'figure.kind = "matrx"' in line
    assert "matrix" in line


def test_changes_replace_settings_wherever_they_live(tmp_path: Path) -> None:
    changes = {
        "network.rtt": "50ms",
        "client": "go@1.0",
        "arms.quic.connection": "resumed",
        "workload.objects": "4",
        "network.jitter_reorders": "true",
        "server_knobs.window": "64KB",
        "timeout": "2s",
        "analysis.alpha": "0.05",
    }
    study = read(study_file(tmp_path), changes=changes, rounds=12)
    assert study.rounds == 12
    assert study.settings["network.rtt"] == "50ms"
    assert study.settings["client"] == "go@1.0"
    assert study.arms[1].settings["connection"] == "resumed"
    assert study.settings["workload.objects"] == 4
    assert study.settings["network.jitter_reorders"] is True
    assert study.settings["server_knobs.window"] == "64KB"
    assert (study.timeout_s, study.analysis.alpha) == (2.0, 0.05)


@pytest.mark.parametrize(
    ("key", "value", "parts"),
    [
        ("network.rtt", "50", ["network.rtt = 50", "needs a unit"]),
        ("network.rrt", "50ms", ["network.rrt", "did you mean 'network.rtt'?"]),
        ("network.rate", "5Mbit", ["factor rate varies it", "--only rate=LEVEL"]),
        ("workload.object", "5MB", ["factor size varies it"]),
        ("protocol", "h3", ["arm tcp sets it: write --set arms.tcp.protocol=", "arm quic"]),
        ("client", "goo", ['defaults.client = "goo"', "did you mean 'go'?"]),
        ("title.x", "y", ["title is no table"]),
        ("arms", "y", ["table or list"]),
        ("factors.rate", "y", ["factors is no table"]),
    ],
)
def test_a_change_that_cannot_be_is_told(tmp_path: Path, key: str, value: str, parts: list[str]) -> None:
    lines = problems(study_file(tmp_path), changes={key: value})
    assert any(all(part in line for part in parts) for line in lines), lines


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
    assert "goes round in a circle" in problems(tmp_path / "one.toml")[0]


def test_extending_nothing_names_the_nearest(tmp_path: Path) -> None:
    path = tmp_path / "one.toml"
    path.write_text('extends = "dmo"\n')
    assert "did you mean 'demo'?" in problems(path)[0]


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


PAGE = (Path(files.__file__).parents[3] / "docs" / "studies.md").read_text(encoding="utf-8")


def test_every_key_of_the_format_is_documented() -> None:
    tables: list[type[Table]] = [StudyTable, *Table.__subclasses__()]
    keys = {field.alias or name for table in tables for name, field in table.model_fields.items()}
    keys |= {key.split(".")[-1] for key in network.SETTINGS} | set(ENDPOINT_KEYS)
    assert [key for key in sorted(keys) if f"`{key}`" not in PAGE and f"[{key}" not in PAGE] == []


def test_the_documented_study_reads(tmp_path: Path) -> None:
    path = tmp_path / "documented.toml"
    path.write_text(PAGE.split("```toml\n")[1].split("```")[0])
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


@settings(max_examples=200, deadline=None, derandomize=True)
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
    assert releases(study, dated()) == {"tcp": Release("go@1.0", "2020-01-02"), "quic": Release("go@2.0", "2023-04-05")}
    assert releases(replace(study, figure=Figure("size", ("rate",))), dated()) == {}


def test_a_trend_needs_dates_and_arms_that_keep_their_programs(tmp_path: Path) -> None:
    assert any("no date of release" in line for line in problems(study_file(tmp_path, more=TREND)))
    factor = '\n[[factors]]\nname = "who"\nsets = "client"\nlevels = ["go@1.0", "go@2.0"]\n'
    path = study_file(tmp_path, more=TREND.replace('["rate"]', '["rate", "who"]') + factor)
    path.write_text(path.read_text().partition("[[claims]]")[0] + TREND.replace('["rate"]', '["rate", "who"]') + factor)
    assert any("factor who sets server or client" in line for line in problems(path))


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
    assert first.expected == Expected("quic", "page_load_time", 1.5, at_least=1.0)
    assert second.expected == Expected("quic", "handshake_time", None, at_most=0.1)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('arm = "quic"', 'arm = "quick"', "no such arm"),
        ("metrics.handshake_time", "metrics.handshake", "not among this study's metrics"),
        ("{ at_most = 0.1 }", "{ published = 0.1 }", "says no bounds"),
        ("{ at_most = 0.1 }", "{ at_least = 1, at_most = 0.1 }", "above at_most"),
        ('arm = "quic"', 'arm = "quic"\ncontrast = "quic vs tcp"', "about an arm"),
        ('arm = "quic"\n', "", "missing, or arm and metrics"),
        (', size = "small"', "", "names no level of size"),
    ],
)
def test_what_a_claim_about_a_level_lacks_is_told(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in LEVELS
    assert any(said in line for line in problems(study_file(tmp_path, more=LEVELS.replace(old, new, 1))))


def test_a_direction_needs_no_number(tmp_path: Path) -> None:
    claims = read(study_file(tmp_path, ('large = "ns"', 'large = "-"'))).claims
    assert [(claim.effect_pct, claim.direction) for claim in claims] == [(45.0, None), (None, Verdict.WORSE)]
