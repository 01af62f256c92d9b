"""Settings of the kernel's TCP: each has a proof, which fails where the setting does nothing."""

import numpy as np
import pytest

from longlook.instruments.conformance.checks import Check, CheckStatus
from longlook.instruments.conformance.runner import checks
from longlook.instruments.conformance.subject import REFERENCE, subject
from longlook.instruments.conformance.tcp_settings import PROOFS
from longlook.study import tcp
from tests.data.conformance import FAILED, data, packets, seen

PROVEN_ELSEWHERE = {"tcp_idle_restart", "tcp_multipath", "tcp_multipath_backup"}
"""No workload pauses for a retransmission timeout: tests/lab/test_tcp.py has the proof of the first. Each trial with
Multipath TCP proves that it was used (`lab.multipath`), and tests/e2e/test_moving.py has the second path."""


def check_of(setting: str) -> Check:
    return PROOFS[setting].check(setting, REFERENCE, REFERENCE)


def test_every_setting_has_a_proof() -> None:
    assert {setting_of(proof) for proof in PROOFS} == tcp.SETTINGS.keys() - PROVEN_ELSEWHERE


def setting_of(proof: str) -> str:
    """Return the setting of a proof, of which a value may have one of its own: `tcp_ecn = "accecn"`."""
    return proof.partition(" ")[0]


def test_the_reference_is_checked_for_them_and_no_other() -> None:
    of_reference = {check.knob for check in checks(subject(REFERENCE))}
    assert PROOFS.keys() <= of_reference
    assert not PROOFS.keys() & {check.knob for check in checks(subject("quinn"))}


@pytest.mark.parametrize("setting", sorted(PROOFS))
def test_only_the_setting_differs_and_it_is_one_that_a_study_may_write(setting: str) -> None:
    wants = check_of(setting).wants
    assert len({want.trial().id for want in wants.values()}) == len(wants) == 2
    assert {want.trial().congestion_control for want in wants.values()} == {"cubic"}
    for want in wants.values():
        assert all(tcp.tcp_setting(key, value) == value for key, value in want.tcp.items())
    assert any(setting_of(setting) in want.tcp for want in wants.values())


@pytest.mark.parametrize("setting", sorted(PROOFS))
def test_a_setting_that_does_nothing_fails(setting: str) -> None:
    download = data(np.arange(0, 3, 0.002).tolist())
    acks = [(time_s + 0.001, True, 40) for time_s, _, _ in download[::2]]
    alike = seen(packets(sorted(download + acks), lost=[300]))
    check = check_of(setting)
    assert check.judge(dict.fromkeys(check.wants, alike)).status is CheckStatus.FAILED


@pytest.mark.parametrize("setting", sorted(PROOFS))
def test_a_trial_that_left_nothing_fails(setting: str) -> None:
    check = check_of(setting)
    assert check.judge(dict.fromkeys(check.wants, seen(**FAILED))).status is CheckStatus.FAILED
    assert check.judge(dict.fromkeys(check.wants, seen())).status is CheckStatus.FAILED


def test_what_rescues_a_load_is_there_in_one_trial_and_not_in_the_other() -> None:
    arrived, lost = seen(packets(data([0.0, 0.1], 988))), seen(**FAILED)
    check = check_of("tcp_mtu_probing")
    assert check.judge({"with": arrived, "without": lost}).status is CheckStatus.PASSED
    assert check.judge({"with": lost, "without": lost}).status is CheckStatus.FAILED
    assert check.judge({"with": arrived, "without": arrived}).status is CheckStatus.FAILED


def test_a_smaller_segment_shows_on_the_wire() -> None:
    small, usual = (seen(packets(data([0.0, 0.1], size))) for size in (988, 1448))
    check = check_of("tcp_mss")
    assert check.judge({"one": small, "other": usual}).status is CheckStatus.PASSED
    assert check.judge({"one": usual, "other": usual}).status is CheckStatus.FAILED
