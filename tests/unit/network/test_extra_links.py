"""Further links: their settings are those of the main link under another name, and so are their errors."""

import pytest

from longlook.core.links import as_further, as_main, link_of, names_in
from longlook.core.model import Scalar
from longlook.core.problems import SettingError
from longlook.network import extra_links
from longlook.network.config import seed_of
from longlook.network.settings import unchecked_link
from longlook.study.settings import network_setting

MAIN: dict[str, Scalar] = {"network.rate": "10Mbit", "network.rtt": "36ms"}
BEHIND: dict[str, Scalar] = {"behind.rate": "50Mbit", "behind.rtt": "20ms", "behind.up.loss": "1%"}


def test_a_further_link_is_the_link_that_the_same_settings_of_the_network_make() -> None:
    found = extra_links.links({**MAIN, **BEHIND}, unchecked_link)
    alone = unchecked_link({"network.rate": "50Mbit", "network.rtt": "20ms", "network.up.loss": "1%"})
    assert found == {"behind": alone}
    assert extra_links.links(MAIN, unchecked_link) == {}


def test_links_take_nothing_from_each_other() -> None:
    with pytest.raises(SettingError) as raised:
        extra_links.links({**MAIN, "behind.rate": "50Mbit"}, unchecked_link)
    assert raised.value.key == "behind.rtt"
    assert raised.value.absent
    assert "network." not in raised.value.message
    with_start = extra_links.settings_of("behind", {**MAIN, **BEHIND, "workload.start": "1s"})
    assert "workload.start" in with_start


def test_values_are_checked_as_those_of_the_network() -> None:
    assert network_setting("behind.rate", "10 Mbit/s") == "10Mbit"
    with pytest.raises(SettingError, match=r"behind\.rates: unknown key; .*did you mean 'behind\.rate'"):
        network_setting("behind.rates", "1Mbit")
    with pytest.raises(SettingError, match=r"^second\.loss: "):
        network_setting("second.loss", "many")


def test_names_are_told_from_keys() -> None:
    assert names_in(["second.rate", "network.rate", "behind.rtt", "behind.rate"]) == ("behind", "second")
    assert link_of("behind") == ""
    assert as_main("behind.up.loss") == "network.up.loss"
    assert as_further("second", "network.rtt") == "second.rtt"
    assert as_further("second", "workload.object") == "workload.object"


def test_each_link_has_a_seed_of_its_own() -> None:
    seeds = {seed_of(7, name) for name in ("", "behind", "second")}
    assert len(seeds) == 3
    assert seed_of(7, "") == 7
    assert seed_of(7, "behind") == seed_of(7, "behind") != seed_of(8, "behind")
    assert all(0 <= seed < 2**63 for seed in seeds)
