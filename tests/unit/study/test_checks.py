"""What is wrong in a study file is reported, all of it together and each mistake once."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.model import Figure
from tests.data.studies import problems, read, study_file

ONE_PROBLEM = [
    # what is replaced, by what, and the parts of the one line that must come
    ("rounds = 3", "rouns = 3", ["rouns = 3", "unknown key", "allowed:", "did you mean 'rounds'?"]),
    ("rounds = 3", "rounds = 0", ["rounds = 0", "greater than or equal to 1"]),
    ("rounds = 3", 'rounds = "3"', ['rounds = "3"', "must be a whole number"]),
    ("rounds = 3", "rounds = 3\nmax_rounds = 9", ["max_rounds = 9", 'no effect without rounds = "decide"']),
    ("rounds = 3", 'rounds = "decide"\nmax_rounds = 9', ["max_rounds = 9", "analysis.min_rounds = 10 or more"]),
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
    ('connection = "cold"', 'connection = "0rtt"', ["arms.tcp.connection", "cannot do this over h2", "cold, resumed"]),
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
    (
        'protocol = "h3"',
        'protocol = "h3"\nserver_knobs.cut = 0.5',
        ["arms.quic.server_knobs.cut", "only with server_knobs.cc = reno, and cc is cubic", "set that too"],
    ),
    (
        'protocol = "h3"',
        'protocol = "h3"\nserver_knobs.cut = 0.5\nclient_knobs.cc = "reno"\nserver_knobs.cc = "cubic"',
        ["arms.quic.server_knobs.cut", "cc is cubic"],
    ),
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


def test_names_and_combinations_are_reported_together(tmp_path: Path) -> None:
    path = study_file(tmp_path, ('baseline = "tcp"', 'baseline = "tpc"'), ('congestion_control = "cubic"', ""))
    assert [line.split(" ")[1] for line in problems(path)] == ["contrasts.quic", "arms.tcp.congestion_control:"]


@pytest.mark.parametrize(
    ("shape", "first"),
    [
        (('title = "A title"', ""), "title: missing"),
        (('name = "quic vs tcp"\n', ""), "contrasts[0].name: missing"),
        (('metrics = ["page_load_time", "handshake_time"]', "metrics = []"), "metrics = []: must not be empty"),
        (('rows = "rate"', "rows = 1"), "claims.fig1.rows = 1: must be a text"),
    ],
)
def test_a_wrong_shape_does_not_hide_other_mistakes(tmp_path: Path, shape: tuple[str, str], first: str) -> None:
    path = study_file(tmp_path, shape, ('server = "go"', 'server = "goo"'), ('rtt = "36ms"', 'rtt = "0ms"\nloss = "2"'))
    lines = [line.removeprefix("tiny.toml: ") for line in problems(path)]
    assert lines[0].startswith(first)
    assert any(line.startswith("network.loss") for line in lines)
    assert any("no stack 'goo'" in line for line in lines)
    assert len(lines) == 3, lines  # and nothing that only follows from these


def test_an_unknown_metric_does_not_hide_a_wrong_combination(tmp_path: Path) -> None:
    path = study_file(
        tmp_path, ('"handshake_time"]', '"handshak_time"]'), ('connection = "cold"', 'connection = "0rtt"')
    )
    assert [line.split(" ")[1] for line in problems(path)] == ["metrics", "arms.tcp.connection"]


def test_a_mistake_in_one_arm_does_not_hide_another_arms(tmp_path: Path) -> None:
    path = study_file(tmp_path, ('"cubic"', '"qubic"'), ('protocol = "h3"', 'protocol = "h4"'))
    assert [line.split(" ")[1] for line in problems(path)] == ["arms.tcp.congestion_control", "arms.quic.protocol"]


def test_a_study_without_factors_learns_what_to_write(tmp_path: Path) -> None:
    text = study_file(tmp_path).read_text()
    path = tmp_path / "plain.toml"
    path.write_text(text[: text.index("[[factors]]")] + text[text.index("[[contrasts]]") : text.index("[[claims]]")])
    (line,) = problems(path)
    assert "factors: missing" in line
    assert "one level" in line


def test_one_arm_is_no_comparison(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = study_file(tmp_path, ('[arms.quic]\nprotocol = "h3"\nconnection = "cold"\n', ""))
    assert problems(path) == snapshot


def test_text_that_is_not_toml_is_reported_with_line_and_column(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (line,) = problems(study_file(tmp_path, ("rounds = 3", "rounds 3")))
    assert line == snapshot


def test_a_file_that_is_not_text_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "bytes.toml"
    path.write_bytes(b"\xff\xfe\x00")
    assert "not TOML" in problems(path)[0]


def test_two_factors_must_not_set_one_key(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    more = '[[factors]]\nname = "again"\nsets = "network.rate"\nlevels = ["1Mbit"]\n'
    lines = problems(study_file(tmp_path, more=more))
    assert lines == snapshot


def test_an_arm_and_a_factor_must_not_set_one_key(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    more = '[[factors]]\nname = "state"\nsets = "connection"\nlevels = ["cold", "resumed"]\n'
    lines = problems(study_file(tmp_path, more=more))
    assert lines == snapshot


def test_what_a_level_makes_impossible_is_reported_at_the_level(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    more = '[[factors]]\nname = "client"\nsets = "client"\nlevels = ["go", "h3only"]\n'
    path = study_file(tmp_path, ('client = "go"\n', ""), ("[[claims]]", "[[ignored]]"), more=more)
    path.write_text(path.read_text().split("[[ignored]]")[0] + more)
    assert problems(path) == snapshot


FETCH = ('kind = "page"\nobjects = 1', 'kind = "fetch"\nconnections = 4')


def test_a_client_that_opens_one_connection_is_reported(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = study_file(tmp_path, FETCH, ('client = "go"', 'client = "browser"'))
    assert problems(path) == snapshot
    assert read(study_file(tmp_path, FETCH)).settings["workload.connections"] == 4


WARM = ('kind = "page"\nobjects = 1', 'kind = "fetch"\nwarm = "1s"')


def test_a_client_that_never_waits_is_reported(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (line,) = problems(study_file(tmp_path, WARM, ('client = "go"', 'client = "browser"')))
    assert "workload.warm" in line
    assert line == snapshot
    assert read(study_file(tmp_path, WARM)).settings["workload.warm"] == "1s"
    never = study_file(tmp_path, (WARM[0], 'kind = "fetch"\nwarm = "0s"'), ('client = "go"', 'client = "browser"'))
    assert read(never).settings["workload.warm"] == "0ns"


def test_a_warm_connection_has_no_use_for_early_data(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    early = ('protocol = "h3"\nconnection = "cold"', 'protocol = "h3"\nconnection = "0rtt"')
    (line,) = problems(study_file(tmp_path, WARM, early))
    assert line == snapshot


@pytest.mark.parametrize(
    ("connections", "message"), [("0", "at least 1"), ("65", "at most 64"), ('"2"', "whole number")]
)
def test_a_number_of_connections_that_cannot_be_is_reported(tmp_path: Path, connections: str, message: str) -> None:
    path = study_file(tmp_path, (FETCH[0], FETCH[1].replace("4", connections)))
    assert any("workload.connections" in line and message in line for line in problems(path))


def test_excluding_everything_is_an_error(tmp_path: Path) -> None:
    more = '[[exclude]]\nsize = ["small", "large"]\n'
    assert any("exclude: leaves no cell" in line for line in problems(study_file(tmp_path, more=more)))


def test_excluding_what_does_not_exist_is_an_error(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    lines = problems(study_file(tmp_path, more='[[exclude]]\nsize = "smal"\nrat = "10Mbit"\n'))
    assert lines == snapshot


def test_a_claim_on_an_excluded_cell_is_an_error(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    lines = problems(study_file(tmp_path, more='[[exclude]]\nsize = "small"\nrate = "10Mbit"\n'))
    assert lines == snapshot


def test_a_claim_must_name_a_level_of_every_factor(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    more = '[[factors]]\nname = "loss"\nsets = "network.loss"\nlevels = ["0%", "1%"]\n'
    lines = problems(study_file(tmp_path, more=more))
    assert lines == snapshot


def test_a_figure_places_every_factor_once(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    lines = problems(study_file(tmp_path, more='[figure]\ncolumns = "rate"\nrows = ["rate", "siz"]\n'))
    assert lines == snapshot


def test_a_matrix_may_name_one_of_the_studys_metrics(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    axes = 'columns = "size"\nrows = ["rate"]\n'
    named = read(study_file(tmp_path, more=f'[figure]\nkind = "matrix"\nmetric = "page_load_time"\n{axes}'))
    assert named.figure == Figure("size", ("rate",), "matrix", "page_load_time")
    assert read(study_file(tmp_path, more=f'[figure]\nkind = "matrix"\n{axes}')).figure.metric == ""
    (line,) = problems(study_file(tmp_path, more=f'[figure]\nkind = "matrix"\nmetric = "page_load_tim"\n{axes}'))
    assert line == snapshot
    (line,) = problems(study_file(tmp_path, more=f'[figure]\nmetric = "page_load_time"\n{axes}'))
    assert line == snapshot
    (line,) = problems(study_file(tmp_path, more=f'[figure]\nkind = "matrx"\n{axes}'))
    assert 'figure.kind = "matrx"' in line
    assert "matrix" in line


def test_a_knob_beside_the_value_of_another_that_it_needs_is_taken(tmp_path: Path) -> None:
    both = 'protocol = "h3"\nserver_knobs.cut = 0.5\nserver_knobs.cc = "reno"'
    study = read(study_file(tmp_path, ('protocol = "h3"', both)))
    assert next(arm for arm in study.arms if arm.name == "quic").settings["server_knobs.cut"] == 0.5
