"""The version of IP of a study: where it may stand, what it changes, and what is refused."""

from pathlib import Path

import pytest

from longlook.core import InputError
from longlook.study import find_study, make_plan

STUDY = """
schema = 1
title = "IPv6"
question = "Is it carried?"
rounds = 1
around = "none"
metrics = ["page_load_time"]
contrasts = [["one", "other"]]

[defaults]
protocol = "h3"
connection = "cold"
server = "quic-go"
client = "quic-go"

[workload]
kind = "page"
objects = 1

[network]
rate = "10Mbit"
rtt = "36ms"
{network}

[arms.one]
{one}

[arms.other]
server_knobs.initial_packet_size = 1300
{other}

[[factors]]
name = "object"
sets = "workload.object"
levels = ["5KB"]
{more}
"""


def plan_of(folder: Path, network: str = "", one: str = "", other: str = "", more: str = "") -> dict[str, int]:
    """Return `Trial.ip` by cell and arm."""
    file = folder / "ip.toml"
    file.write_text(STUDY.format(network=network, one=one, other=other, more=more))
    trials = make_plan(find_study(str(file))).trials
    assert len({trial.id for trial in trials}) == len(trials)
    return {f"{trial.cell_id} {trial.arm}": trial.ip for trial in trials}


def ids_of(folder: Path, network: str = "", one: str = "") -> set[str]:
    file = folder / "ip.toml"
    file.write_text(STUDY.format(network=network, one=one, other="", more=""))
    return {trial.id for trial in make_plan(find_study(str(file))).trials}


def test_a_network_a_level_and_an_arm_may_have_a_version(tmp_path: Path) -> None:
    assert set(plan_of(tmp_path).values()) == {0}
    assert set(plan_of(tmp_path, 'ip = "6"').values()) == {6}
    assert set(plan_of(tmp_path, "ip = 6").values()) == {6}
    levels = plan_of(tmp_path, more='[[factors]]\nname = "ip"\nsets = "network.ip"\nlevels = ["4", "6"]')
    assert sorted(levels.values()) == [0, 0, 6, 6]
    assert {name.rpartition(" ")[2]: ip for name, ip in plan_of(tmp_path, one='network.ip = "6"').items()} == {
        "one": 6,
        "other": 0,
    }
    own = plan_of(tmp_path, 'ip = "6"', other='network.ip = "4"')
    assert {name.rpartition(" ")[2]: ip for name, ip in own.items()} == {"one": 6, "other": 0}


def test_ipv4_leaves_every_trial_as_it_was(tmp_path: Path) -> None:
    assert ids_of(tmp_path, 'ip = "4"') == ids_of(tmp_path)
    assert not ids_of(tmp_path, 'ip = "6"') & ids_of(tmp_path)


def test_arms_of_a_round_share_the_draws_of_the_link(tmp_path: Path) -> None:
    file = tmp_path / "ip.toml"
    file.write_text(STUDY.format(network="", one='network.ip = "6"', other="", more=""))
    assert len({trial.seed for trial in make_plan(find_study(str(file))).trials}) == 1


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"network": 'ip = "5"'}, 'write "4" or "6"'),
        ({"network": "ip = true"}, 'write "4" or "6"'),
        ({"network": 'ip = "6"\nmtu = "1279B"'}, "1280 bytes at least (RFC 8200, section 5)"),
        ({"network": 'ip = "6"\ndown.mtu = "steps(0s 1500B, 1s 1200B)"'}, "1280 bytes at least (RFC 8200, section 5)"),
        ({"network": 'ip = "6"', "more": '[behind]\nrate = "1Mbit"\nrtt = "9ms"\nmtu = "576B"'}, "behind.mtu"),
        ({"more": '[behind]\nrate = "1Mbit"\nrtt = "9ms"\nip = "6"'}, "is of the whole path: set network.ip"),
        ({"network": 'ip = "6"', "more": '[second]\nrate = "1Mbit"\nrtt = "9ms"'}, "over IPv4 alone"),
        ({"network": 'ip = "6"', "one": 'client = "chromium-remote"'}, "reached over IPv4 alone"),
        (
            {"network": 'ip = "6"', "one": 'server = "quinn"\nserver_knobs.preferred_address = true'},
            "quinn does this over IPv4 alone",
        ),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, settings: dict[str, str], reason: str) -> None:
    with pytest.raises(InputError) as refused:
        plan_of(tmp_path, **settings)
    assert reason in str(refused.value)


def test_a_path_of_the_least_mtu_is_one_of_ipv6(tmp_path: Path) -> None:
    assert set(plan_of(tmp_path, 'ip = "6"\nmtu = "1280B"').values()) == {6}
    assert set(plan_of(tmp_path, 'ip = "6"\nmtu = "off"').values()) == {6}
