"""Arms that echo, and the populations of paths that their studies may declare."""

from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core import registry
from longlook.core.errors import InputError
from longlook.core.model import Study
from longlook.study.files import read_study
from longlook.study.plan import make_plan
from tests.data.studies import CATALOGUE

ALL = replace(
    CATALOGUE,
    stacks={**CATALOGUE.stacks, "echo": registry.stack("echo")},
    workloads={**CATALOGUE.workloads, "echo": registry.workload("echo")},
    metrics={**CATALOGUE.metrics, "usable_payload": registry.get("metrics", "usable_payload")},
)

STUDY = """
schema = 1
title = "A title"
question = "Is it?"
rounds = 3
timeout = "30s"
metrics = ["usable_payload"]

[arms.udp]
protocol = "udp-echo"

[arms.quic]
protocol = "quic-echo"

[defaults]
connection = "cold"
server = "echo"
client = "echo"

[workload]
kind = "echo"
payload = "1200B to 1500B by 100B"

[network]
rate = "10Mbit"
rtt = "36ms"

[[factors]]
name = "path"
levels = [{ label = "wide", network.mtu = "1500B" }, { label = "narrow", network.mtu = "1400B" }]

[[factors]]
name = "icmp"
sets = "network.mtu_icmp"
levels = [true, false]

[[contrasts]]
name = "quic vs udp"
baseline = "udp"
contender = "quic"
metric = "usable_payload"

[population]
factor = "path"
source = "made up"
shares = { wide = "75%", narrow = "25%" }

[figure]
columns = "icmp"
rows = ["path"]
kind = "population"

[[claims]]
id = "few"
source = "somebody"
arm = "quic"
cell = { icmp = "true" }
metrics.usable_payload = { below = 1400, at_most = 30 }
"""


def written(folder: Path, *changes: tuple[str, str]) -> Path:
    text = STUDY
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    path = folder / "echo.toml"
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, *changes: tuple[str, str]) -> Study:
    return read_study(written(folder, *changes), ALL)


def test_a_trial_says_what_is_sent_and_who_may_fragment_it(tmp_path: Path) -> None:
    study = read(tmp_path, ('"udp-echo"', '"udp-echo"\nclient_knobs.dont_fragment = "kernel"'))
    trials = make_plan(study, catalogue=ALL).trials
    assert len(trials) == 3 * 4 * 2
    for trial in trials:
        assert trial.workload.parameters == {"payload": "1200B to 1500B by 100B", "tries": 3, "interval_s": 1}
        assert (trial.congestion_control, trial.tcp, trial.server.knobs) == (None, {}, {})
        assert trial.client.knobs == ({"dont_fragment": "kernel"} if trial.arm == "udp" else {})


def test_the_population_is_part_of_the_study_and_of_no_trial(tmp_path: Path) -> None:
    one = read(tmp_path)
    other = read(tmp_path, ('wide = "75%", narrow = "25%"', 'wide = "50%", narrow = "50%"'))
    assert one.population is not None
    assert (one.population.factor, dict(one.population.shares)) == ("path", {"wide": 75.0, "narrow": 25.0})
    assert make_plan(one, catalogue=ALL).hash == make_plan(other, catalogue=ALL).hash
    (claim,) = one.claims
    assert claim.expected is not None
    assert (claim.expected.below, claim.expected.at_most, dict(claim.cell)) == (1400, 30, {"icmp": "true"})


PAYLOAD = '"1200B to 1500B by 100B"'
SHARES = 'shares = { wide = "75%", narrow = "25%" }'


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([(PAYLOAD, '"63B"')], "63 bytes: a payload has 64 B to 9000 B"),
        ([(PAYLOAD, '"1200B to 1500B"')], "has no step"),
        ([(PAYLOAD, "1350")], "write a size such as 1350B"),
        ([(PAYLOAD, f"{PAYLOAD}\ntries = 0")], "workload.tries = 0: must be"),
        ([(PAYLOAD, f'{PAYLOAD}\ninterval = "1ms"')], "workload.interval"),
        ([(PAYLOAD, '"1100B"')], "a first packet of QUIC has 1200 B or more"),
        ([(PAYLOAD, '"1480B"')], "never leaves an interface with an MTU of 1500 B in one piece: at most 1472 B"),
        ([('"udp-echo"', '"h2"\nserver = "go"\nclient = "go"\ncongestion_control = "cubic"')], "use udp-echo or quic"),
        ([('"udp-echo"', '"h2"')], "workload echo sends datagrams that its server answers"),
        ([('"quic-echo"', '"quic-echo"\nclient_knobs.dont_fragment = "unset"')], "means nothing with quic-echo"),
        (
            [('"udp-echo"', '"udp-echo"\ncongestion_control = "cubic"')],
            "which udp-echo does not use",
        ),
        ([('kind = "echo"\npayload = "1200B to 1500B by 100B"', 'kind = "fetch"\nobject = "1KB"')], "fetches nothing"),
        ([(SHARES, 'shares = { wide = "75%", narrow = "20%" }')], "are 95 % together; they must be 100 %"),
        ([(SHARES, 'shares = { wide = "100%" }')], "lacks narrow"),
        ([(SHARES, 'shares = { wide = "75%", narow = "25%" }')], "no such level; .*narrow"),
        ([('factor = "path"', 'factor = "paht"')], "no such factor; .*path"),
        ([("cell = { icmp", 'cell = { path = "wide", icmp')], "is about the whole population: name no level of path"),
        ([("cell = { icmp", "cell = { imcp")], "no factor 'imcp'"),
        ([("[[claims]]", '[[exclude]]\npath = "wide"\n[[claims]]')], "leaves out a stratum of the population"),
        ([(STUDY[STUDY.index("[population]") : STUDY.index("[figure]")], "")], "add a table .population."),
    ],
)
def test_what_cannot_be_is_refused_with_what_may_be(
    tmp_path: Path, changes: list[tuple[str, str]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, *changes)


def test_one_size_above_the_interface_may_leave_in_fragments(tmp_path: Path) -> None:
    both = '"udp-echo"\nclient_knobs.dont_fragment = "kernel"\nserver_knobs.dont_fragment = "unset"'
    with pytest.raises(InputError) as caught:
        read(tmp_path, (PAYLOAD, '"1480B"'), ('"udp-echo"', both))
    (line,) = caught.value.message.splitlines()
    assert "arms.quic" in line or "workload.payload" in line
