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
    assert {key for key in stock if stock[key] != tuned[key]} == stock.keys() - {tcp.CONGESTION_CONTROL}
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
    assert tcp.parameters({"tcp_rto_min": "50ms", "tcp_mss": "1000B", "tcp_reordering": 30, "tcp_sack": False}) == {
        "rto_min_ms": 50,
        "mss_bytes": 1000,
        "reordering_packets": 30,
        "sack": False,
    }


def test_every_setting_reaches_the_laboratory_under_a_name_of_its_own() -> None:
    assert len({tcp.parameter(key) for key in tcp.SETTINGS}) == len(tcp.SETTINGS)
    assert all(tcp.parameter(key).startswith(key.removeprefix("tcp_")) for key in tcp.SETTINGS)


@pytest.mark.parametrize("key", tcp.OF_CUBIC)
def test_settings_of_cubic_are_for_flows_that_have_it(key: str) -> None:
    tcp.check_cubic({key: 0.5}, {"bbr", "cubic"})
    with pytest.raises(SettingError, match=f"{key}.*congestion control here is bbr, reno"):
        tcp.check_cubic({key: 0.5}, {"reno", "bbr"})


def test_cubic_takes_no_first_threshold_with_hystart() -> None:
    tcp.check_cubic({"tcp_initial_ssthresh": 20, "tcp_hystart": False}, {"cubic"})
    with pytest.raises(SettingError, match="only without HyStart"):
        tcp.check_cubic({"tcp_initial_ssthresh": 20, "tcp_hystart": True}, {"cubic"})


def test_an_arm_whose_congestion_control_is_not_cubic_is_told(tmp_path: Path) -> None:
    cubic = 'congestion_control = "cubic"'
    assert read(study_file(tmp_path, (cubic, f"{cubic}\ntcp_hystart = false")))
    found = problems(study_file(tmp_path, (cubic, 'congestion_control = "bbr"\ntcp_hystart = false')))
    assert any("tcp_hystart" in text and "write cubic, or leave it out" in text for text in found)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("tcp", "tunde", "did you mean 'tuned'"),
        ("tcp_initial_window", 0, "from 1 to 1000"),
        ("tcp_initial_window", "32", "whole number"),
        ("tcp_pacing", "yes", "true or false"),
        ("tcp_send_buffer", "1KB", "4KiB"),
        ("tcp_hystart", 1, "true or false"),
        ("tcp_window_after_loss", 1, "share from 0.1 to 0.99"),
        ("tcp_window_after_loss", True, "share from 0.1 to 0.99"),
        ("tcp_initial_ssthresh", 1, "from 2 to 100000"),
        ("tcp_reordering", 0, "from 1 to 1000"),
        ("tcp_rto_min", "1500us", "whole milliseconds"),
        ("tcp_rto_min", "60s", "10s"),
        ("tcp_mss", "9000B", "256B to 1460B"),
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
