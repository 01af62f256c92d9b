"""The settings in which the arms of a study differ."""

from pathlib import Path

from longlook.core.model import Scalar
from longlook.study.arms import arm_differences
from longlook.study.catalogue import installed
from longlook.study.files import find_study, read_study
from tests.data.studies import CATALOGUE, study_file


def differences(folder: Path, *changes: tuple[str, str]) -> dict[str, dict[str, Scalar]]:
    return arm_differences(read_study(study_file(folder, *changes), CATALOGUE), CATALOGUE)


def test_arms_show_the_settings_in_which_they_differ_and_no_others(tmp_path: Path) -> None:
    found = differences(tmp_path)
    assert found == {"tcp": {"protocol": "h2", "congestion_control": "cubic"}, "quic": {"protocol": "h3"}}


def test_a_knob_of_one_arm_is_shown_for_that_arm(tmp_path: Path) -> None:
    found = differences(tmp_path, ('protocol = "h3"', 'protocol = "h3"\nserver_knobs = { window = 4096 }'))
    assert found["quic"]["server_knobs.window"] == 4096
    assert "server_knobs.window" not in found["tcp"]


def test_a_stack_is_shown_with_the_version_that_runs(tmp_path: Path) -> None:
    version = CATALOGUE.stacks["go"].default_version
    found = differences(tmp_path, ('protocol = "h3"', 'protocol = "h3"\nclient = "browser"'))
    assert found["tcp"]["client"] == f"go@{version}"
    assert found["quic"]["client"] == f"browser@{CATALOGUE.stacks['browser'].default_version}"


def test_a_preset_of_tcp_is_shown_by_what_it_sets(tmp_path: Path) -> None:
    found = differences(tmp_path, ('congestion_control = "cubic"', 'tcp = "bbr"'))
    assert found["tcp"]["congestion_control"] == "bbr"
    assert found["tcp"]["tcp_pacing"] is True
    assert "tcp" not in found["tcp"]
    assert found["quic"] == {"protocol": "h3"}


def test_a_group_of_flows_has_the_settings_of_its_arm() -> None:
    study = find_study("kakhki2017-tab4")
    found = arm_differences(study, installed())
    assert found["tcp"]["flows.subject.protocol"] == "h2"
    assert str(found["tcp"]["flows.subject.server"]).startswith("quic-go@")  # from [defaults]
    assert str(found["quic"]["flows.subject.server"]).startswith("envoy@")
    assert not any(key.startswith("flows.tcp.") for arm in found.values() for key in arm)
