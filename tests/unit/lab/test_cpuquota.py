"""A client with a share of a CPU: what a study may ask for, and what the kernel gets."""

from pathlib import Path

import pytest

from longlook.core.errors import InputError, MachineError
from longlook.core.model import Trial
from longlook.core.problems import SettingError
from longlook.lab import guard
from longlook.lab.linux import cpuquota
from longlook.study.plan import make_plan
from longlook.study.settings import endpoint_setting
from longlook.study.virtual_time import check_virtual
from tests.data.studies import CATALOGUE, study_file
from tests.unit.study.test_files import read


@pytest.mark.parametrize(("given", "canonical"), [("20 %", "20%"), (0.2, "20%"), ("off", "off"), ("100%", "100%")])
def test_spellings_of_a_share_are_one(given: object, canonical: str) -> None:
    assert endpoint_setting("client_cpu", given) == canonical


@pytest.mark.parametrize(
    ("given", "message"), [("0.5%", "at least 1%"), ("200%", "between 0% and 100%"), ("fast", "off")]
)
def test_bad_shares_are_refused(given: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        endpoint_setting("client_cpu", given)


def limited_to(share: str | None) -> list[tuple[str, str]]:
    return [] if share is None else [('protocol = "h3"', f'protocol = "h3"\nclient_cpu = "{share}"')]


def trials(tmp_path: Path, share: str | None) -> list[Trial]:
    study = read(study_file(tmp_path, *limited_to(share)))
    return [trial for trial in make_plan(study, catalogue=CATALOGUE).trials if trial.arm == "quic"]


def test_no_limit_leaves_every_trial_as_it_was_and_a_limit_is_another_trial(tmp_path: Path) -> None:
    plain, off, limited = (trials(tmp_path, share) for share in (None, "off", "20%"))
    assert [trial.id for trial in plain] == [trial.id for trial in off]
    assert not {trial.id for trial in plain} & {trial.id for trial in limited}
    assert {trial.client_cpu_share for trial in limited} == {0.2}


def test_virtual_time_refuses_a_limit_before_anything_runs(tmp_path: Path) -> None:
    study = read(study_file(tmp_path, *limited_to("20%")))
    plan = make_plan(study, catalogue=CATALOGUE)
    with pytest.raises(InputError, match="20% of a CPU, which virtual time"):
        check_virtual(study, plan, "virtual")
    check_virtual(study, plan, "live")


@pytest.mark.parametrize(
    ("share", "quota"),
    [(1.0, (10_000, 10_000)), (0.2, (2_000, 10_000)), (0.1, (1_000, 10_000)), (0.05, (1_000, 20_000))],
)
def test_the_kernel_gives_a_millisecond_or_more_at_once(share: float, quota: tuple[int, int]) -> None:
    assert cpuquota.quota(share) == quota


def test_a_machine_without_the_controller_is_reported(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="no cpu controller"):
        cpuquota.controller(tmp_path)
    cpuquota.clear("nothing", tmp_path)


def test_the_newer_interface_is_found_where_it_is_enabled(tmp_path: Path) -> None:
    (tmp_path / "cgroup.subtree_control").write_text("cpuset cpu io memory pids\n")
    assert cpuquota.controller(tmp_path) == cpuquota.Controller(tmp_path, 2)


def test_what_a_limited_client_could_not_read_is_its_own_loss() -> None:
    assert guard.limits(limited_client=False).udp_errors == 0
    assert guard.limits(limited_client=True).udp_errors > 1e9
