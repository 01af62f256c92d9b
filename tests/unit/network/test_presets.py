"""Presets: each is a path by itself, says where it comes from, and gives way to what is set."""

import re

import pytest
from scripts import reference

from longlook.core.model import Scalar
from longlook.core.problems import SettingError
from longlook.network import settings as network
from longlook.network.presets import PRESETS, Preset, list_presets
from longlook.network.settings import unchecked_link
from longlook.study.settings import network_setting

PAGE = reference.ROOT / "docs" / "reference" / "presets.md"


@pytest.mark.parametrize("preset", list_presets(), ids=lambda preset: preset.name)
def test_a_preset_is_a_path_with_a_source(preset: Preset) -> None:
    settings: dict[str, Scalar] = {"network.preset": preset.name, **dict.fromkeys(preset.needs, "10Mbit")}
    spelt = {key: network_setting(key, value) for key, value in preset.settings.items()}
    assert unchecked_link(settings) == unchecked_link({**spelt, **dict.fromkeys(preset.needs, "10Mbit")})
    assert re.search(r"\b(19|20)\d\d\b", preset.source), "a source says when it was published or measured"
    assert preset.summary


def test_the_page_has_every_preset_with_its_source() -> None:
    page = reference.presets()
    assert page == PAGE.read_text(), "run: make generate"
    named = {line.split("`")[1] for line in page.splitlines() if line.startswith("- `")}
    assert named == set(PRESETS)


def test_what_a_source_does_not_say_must_be_set() -> None:
    with pytest.raises(SettingError, match=r"missing.*preset langley2017-india gives none: its source has none") as e:
        network.link({"network.preset": "langley2017-india"})
    assert e.value.key == "network.rate"


def test_the_rate_of_one_direction_is_asked_for_by_its_own_name() -> None:
    with pytest.raises(SettingError, match=r"preset raca2020-5g-still gives none.*network.up.rate = ") as e:
        network.link({"network.preset": "raca2020-5g-still"})
    assert e.value.key == "network.up.rate"
    link = network.link({"network.preset": "raca2020-5g-still", "network.up.rate": "10Mbit"})
    assert link.up[0].parameters["rate_bps"] == 10_000_000


def test_what_is_set_overrides_the_preset() -> None:
    dsl: dict[str, Scalar] = {"network.preset": "wolsing2019-dsl"}
    rates = [stages[0].parameters["rate_bps"] for stages in (network.link(dsl).up, network.link(dsl).down)]
    assert rates == [5_000_000, 25_000_000]
    both = network.link({**dsl, "network.rate": "1Mbit"})
    assert [stages[0].parameters["rate_bps"] for stages in (both.up, both.down)] == [1_000_000, 1_000_000]
    one = network.link({**dsl, "network.up.rate": "1Mbit"})
    assert [stages[0].parameters["rate_bps"] for stages in (one.up, one.down)] == [1_000_000, 25_000_000]
    assert network.link({**dsl, "network.rtt": "100ms"}).up[-1].parameters == {"delay_ns": 50_000_000}
    assert network.link({**dsl, "network.up.delay": "1ms"}).down[-1].parameters == {"delay_ns": 12_000_000}
    assert network.link({**dsl, "network.queue": "1bdp"}).down[0].parameters["queue_bytes"] == 75_000
    assert network.complete({**dsl, "network.loss": "1%"})["network.loss"] == "1%"
    assert network.complete(dsl)["network.down.queue"] == "37500B"


def test_queues_that_are_a_time_at_their_rate() -> None:
    for name, queue_s in (("dsl", 0.012), ("lte", 0.2), ("in-flight", 0.2), ("satellite", 0.2)):
        link = network.link({"network.preset": f"wolsing2019-{name}", "network.loss": "0%"})
        for rate in (link.up[0].parameters, link.down[0].parameters):
            assert rate["queue_bytes"] == pytest.approx(rate["rate_bps"] * queue_s / 8)
