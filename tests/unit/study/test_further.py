"""Paths of two links in study files: what they add to trials, what rounds draw of them, and what is refused."""

from pathlib import Path

import pytest

from longlook.core import codec
from longlook.core.errors import InputError
from longlook.core.flows import offers_preferred_address
from longlook.core.links import link_of
from longlook.core.model import Study
from longlook.study.files import read_study, study_files
from longlook.study.plan import make_plan
from tests.data.studies import CATALOGUE, study_file

TABLE = ("[network]", '[behind]\nrate = "50Mbit"\nrtt = "20ms"\n\n[network]')
STANDARD = ('around = "none"', 'around = "standard"')


def read(folder: Path, *replacements: tuple[str, str]) -> Study:
    return read_study(study_file(folder, *replacements), CATALOGUE)


def test_a_trial_without_further_links_says_nothing_of_them(tmp_path: Path) -> None:
    trial = make_plan(read(tmp_path), (), CATALOGUE).trials[0]
    assert "further" not in codec.encode(trial)
    assert trial.links == {"": trial.link}


def test_every_arm_has_the_link_behind_and_a_seed_that_its_loss_does_not_change(tmp_path: Path) -> None:
    trials = make_plan(read(tmp_path, TABLE), (), CATALOGUE).trials
    assert all(set(trial.further) == {"behind"} for trial in trials)
    assert codec.decode(type(trials[0]), codec.encode(trials[0])) == trials[0]
    plain = {trial.id for trial in make_plan(read(tmp_path), (), CATALOGUE).trials}
    assert not plain & {trial.id for trial in trials}


def test_rounds_draw_both_links_apart(tmp_path: Path) -> None:
    study = read(tmp_path, TABLE, STANDARD)
    trials = make_plan(study, (), CATALOGUE).trials
    assert study.around["behind.rtt"] == study.around["network.rtt"]
    drawn = [trial.drawn for trial in trials]
    assert all({"behind.rtt", "behind.rate", "behind.queue"} <= each.keys() for each in drawn)
    assert len({each["behind.rtt"] for each in drawn}) > 1
    assert not any(map(link_of, read(tmp_path, STANDARD).around))


def test_one_law_can_be_for_one_link(tmp_path: Path) -> None:
    law = ('around = "none"', 'around = { "behind.rtt" = "uniform 5%" }')
    trials = make_plan(read(tmp_path, TABLE, law), (), CATALOGUE).trials
    assert all(set(trial.drawn) == {"behind.rtt"} for trial in trials)
    with pytest.raises(InputError, match=r"around\.behind\.rtt: draws nothing"):
        read(tmp_path, law)


def test_errors_name_the_further_link(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"behind\.rate"):
        read(tmp_path, ("[network]", '[behind]\nrtt = "20ms"\n\n[network]'))
    second = '[second]\nrate = "1Mbit"\nrtt = "20ms"\n\n'
    with pytest.raises(InputError, match=r"second\.\w+ = .*has no second path beside it"):
        read(tmp_path, ("[network]", second + TABLE[1]))


def test_every_arm_has_the_second_link_and_multipath_needs_it(tmp_path: Path) -> None:
    second = ("[network]", '[second]\nrate = "1Mbit"\nrtt = "20ms"\n\n[network]')
    multipath = ('congestion_control = "cubic"', 'congestion_control = "cubic"\ntcp_multipath = true')
    trials = make_plan(read(tmp_path, second, multipath), (), CATALOGUE).trials
    assert all(set(trial.further) == {"second"} for trial in trials)
    assert {trial.tcp.get("multipath") for trial in trials} == {True, None}
    with pytest.raises(InputError, match=r"tcp_multipath.*has one path only"):
        read(tmp_path, multipath)
    backup = ('congestion_control = "cubic"', 'congestion_control = "cubic"\ntcp_multipath_backup = true')
    with pytest.raises(InputError, match=r"tcp_multipath_backup.*set tcp_multipath"):
        read(tmp_path, second, backup)


def test_multipath_quic_needs_both_ends_and_the_second_link(tmp_path: Path) -> None:
    found = make_plan(shipped(tmp_path, "handover")).trials
    assert {trial.client.knobs.get("multipath") for trial in found} == {"minrtt", "redundant", None}
    alone = ('server_knobs.multipath = "minrtt"\n', "")
    with pytest.raises(InputError, match=r"client_knobs\.multipath.*set server_knobs\.multipath"):
        shipped(tmp_path, "handover", alone)
    with pytest.raises(InputError, match=r"client_knobs\.multipath.*has one path only"):
        shipped(tmp_path, "handover", ('[second]\nrate = "5Mbit"\nrtt = "60ms"\n', ""))


def test_a_server_has_one_address_behind_a_middle_and_where_flows_compete(tmp_path: Path) -> None:
    found = make_plan(shipped(tmp_path, "preferred-address")).trials
    assert {offers_preferred_address(trial) for trial in found} == {True, False}
    behind = [("[second]\n", "[behind]\n"), *[("second.rtt", "behind.rtt"), ("second.block", "behind.block")] * 3]
    with pytest.raises(InputError, match=r"server_knobs\.preferred_address.*leave it or \[behind\] out"):
        shipped(tmp_path, "preferred-address", *behind)
    cubic = 'server_knobs.congestion_control = "cubic" }'
    flow = (cubic, cubic.replace("}", ', server = "quinn", server_knobs.preferred_address = true }').replace(" ,", ","))
    with pytest.raises(InputError, match=r"server_knobs\.preferred_address.*is for one client"):
        shipped(tmp_path, "several-quic-several-tcp", flow)


def shipped(folder: Path, name: str, *replacements: tuple[str, str]) -> Study:
    """Read a study that is shipped, with changes."""
    text = study_files()[name].read_text()
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new, 1)
    file = folder / "changed.toml"
    file.write_text(text)
    return read_study(file)


SPLIT, HAPROXY = "kakhki2017-fig17a", 'proxy = "haproxy@2.6.12"'


def test_only_the_arms_with_a_proxy_have_one(tmp_path: Path) -> None:
    found = {
        trial.arm: trial.proxy for trial in make_plan(shipped(tmp_path, SPLIT), ["size=5KB", "rate=10Mbit"]).trials
    }
    proxy = found["tcp-proxied"]
    assert proxy is not None
    assert proxy.stack == "haproxy"
    assert found["quic"] is None
    without = make_plan(shipped(tmp_path, SPLIT, (HAPROXY, 'proxy = "none"')), ["size=5KB", "rate=10Mbit"])
    assert all(trial.proxy is None for trial in without.trials)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('protocol = "h3"', f'protocol = "h3"\n{HAPROXY}', "proxy haproxy@2.6.12 does not speak it"),
        (HAPROXY, 'proxy = "apache"', "stack 'apache' has no proxy; allowed: .*haproxy"),
        (HAPROXY, "proxy_knobs.buffer = 4096", "there is no proxy: write for example"),
        (HAPROXY, f"{HAPROXY}\nproxy_knobs.speed = 1", "has no such knob; allowed: "),
    ],
)
def test_what_a_proxy_cannot_be_is_refused(tmp_path: Path, old: str, new: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        shipped(tmp_path, SPLIT, (old, new))


def test_an_arm_with_a_proxy_needs_a_link_behind_it(tmp_path: Path) -> None:
    text = study_files()["kakhki2017-fig17a"].read_text()
    table = text[text.index("[behind]") : text.index("[[factors]]")]
    levels = tuple((f', "behind.rate" = "{rate}Mbit"', "") for rate in (10, 50, 100))
    with pytest.raises(InputError, match=r"arms\.tcp-proxied\.proxy = .*add the table \[behind\]"):
        shipped(tmp_path, SPLIT, (table, ""), *levels)
