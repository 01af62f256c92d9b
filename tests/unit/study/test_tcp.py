"""Settings of the kernel's TCP: what they mean, and which of two places wins."""

from pathlib import Path

import pytest

from longlook.core.problems import SettingError
from longlook.study import tcp
from tests.data.studies import study_file
from tests.unit.study.test_files import problems, read


def test_each_preset_is_made_of_settings_that_a_study_may_write() -> None:
    for preset in tcp.PRESETS.values():
        for key, value in preset.items():
            assert key == tcp.CONGESTION_CONTROL or tcp.tcp_setting(key, value) == value


def test_the_ladder_differs_where_it_says() -> None:
    stock, tuned, bbr = (tcp.PRESETS[name] for name in ("stock", "tuned", "bbr"))
    assert {key for key in stock if stock[key] != tuned[key]} == set(tcp.SETTINGS)
    assert {key for key in tuned if tuned[key] != bbr[key]} == {tcp.CONGESTION_CONTROL}


def test_what_the_arm_says_wins_over_its_preset_and_that_over_the_study() -> None:
    study = {"congestion_control": "reno", "tcp_pacing": False}
    assert tcp.with_presets(study, {"tcp": "tuned"})["congestion_control"] == "cubic"
    assert tcp.with_presets(study, {"tcp": "tuned", "tcp_pacing": False})["tcp_pacing"] is False
    assert tcp.with_presets({**study, "tcp": "bbr"}, {})["congestion_control"] == "reno"
    assert tcp.with_presets({"tcp": "bbr"}, {})["congestion_control"] == "bbr"


def test_the_laboratory_gets_only_what_is_set() -> None:
    assert tcp.parameters({"congestion_control": "cubic"}) == {}
    parameters = tcp.parameters({"tcp_initial_window": 32, "tcp_send_buffer": "4MiB", "tcp_idle_restart": False})
    assert parameters == {"initial_window_packets": 32, "send_buffer_bytes": 4 << 20, "idle_restart": False}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("tcp", "tunde", "did you mean 'tuned'"),
        ("tcp_initial_window", 0, "from 1 to 1000"),
        ("tcp_initial_window", "32", "whole number"),
        ("tcp_pacing", "yes", "true or false"),
        ("tcp_send_buffer", "1KB", "4KiB"),
    ],
)
def test_bad_values_are_reported(key: str, value: object, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        tcp.tcp_setting(key, value)


def test_a_preset_names_the_congestion_control_of_its_arm(tmp_path: Path) -> None:
    study = read(study_file(tmp_path, ('congestion_control = "cubic"', 'tcp = "stock"')))
    assert any(arm.settings.get("tcp") == "stock" for arm in study.arms)


def test_a_quic_arm_has_no_kernel_tcp(tmp_path: Path) -> None:
    found = problems(study_file(tmp_path, ('protocol = "h3"', 'protocol = "h3"\ntcp_pacing = true')))
    assert any("tcp_pacing" in text and "kernel's TCP" in text for text in found)
