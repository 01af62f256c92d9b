"""An arm that failed in every round of a cell is named wherever the cell's verdict is shown, with the reason."""

from dataclasses import replace

import pytest

from longlook.core import Arm, Estimate
from longlook.report import failures, text, wording
from longlook.report.content import short_labels
from longlook.terminal.run_display import verdict_table
from tests.data.samples import only, rows, study

WHY = "the server ended at its start (exit code 2); my.conf:3: no such module"
SECONDS = [1.0 + number / 100 for number in range(20)]


@pytest.fixture
def lost() -> Estimate:
    samples = rows(SECONDS, [None] * 20)
    samples["reason"] = WHY
    return only(samples)


def test_the_arm_is_named_with_its_rounds_and_its_reason(lost: Estimate) -> None:
    made = study()
    (sentence,) = failures(made, [lost])
    assert sentence == f"a: QUIC failed in all 20 rounds (failed: {WHY.replace('; ', ', ')})."
    assert text.plain_rows(made, [lost])[1][-1] == "? inconclusive (QUIC failed in all rounds)"
    assert sentence in str(verdict_table(made, [lost]).caption)
    assert "failed in all 20 rounds" in text.markdown_table(made, [lost])


def test_an_arm_that_failed_now_and_then_is_not() -> None:
    made, some = study(), only(rows(SECONDS, [None] * 5 + SECONDS[5:], outcome="timed_out"))
    assert failures(made, [some]) == []
    assert "survivor bias: arm quic failed in 5 of 20 rounds (timed out: no reason given)" in (some.reason or "")
    assert wording.verdict(some, made.analysis, {}).count("failed") == 0


def test_the_short_label_keeps_the_file_of_the_servers_own_configuration() -> None:
    own = {"server_config": f"my.conf sha256:{'4f' * 32}"}
    arms = (Arm("tcp", "apache@2.4.68 h2", {}), Arm("quic", "apache@2.4.68 h2 (my.conf 4f4f4f4)", own))
    found = short_labels(replace(study(), arms=arms))
    assert found == {"tcp": "apache@2.4.68 h2", "quic": "apache@2.4.68 h2 (my.conf)"}
