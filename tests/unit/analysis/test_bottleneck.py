from dataclasses import replace

import pytest

from longlook.analysis.bottleneck import attribute_bottlenecks
from longlook.core.model import Arm, Outcome, Run, Trial, Verdict
from longlook.core.results import Estimate
from tests.data.samples import study
from tests.data.trials import RUN, TRIAL

STUDY = replace(
    study(), arms=(Arm("real", "real", {"engine": "live"}), Arm("made", "made", {"engine": "virtual"})), settings={}
)
ESTIMATE = Estimate(
    contrast="virtual vs live",
    metric="page_load_time",
    unit="s",
    cell=TRIAL.cell,
    cell_id=TRIAL.cell_id,
    baseline="real",
    contender="made",
    n_baseline=10,
    n_contender=10,
    n_pairs=10,
    baseline_median=0.120,
    contender_median=0.115,
    effect_pct=4.2,
    ci_low_pct=4.0,
    ci_high_pct=4.4,
    p_welch=0.0,
    p_paired=0.0,
    p_mannwhitney=0.0,
    p_equivalence=1.0,
    p_adjusted=0.0,
    verdict=Verdict.BETTER,
    reason=None,
    outcomes={},
)


def live(cpu_s: float, late_ms: float = 0.1) -> list[tuple[Trial, Run]]:
    used = {"client": cpu_s / 2, "server": cpu_s / 2, "link": 9.0}
    run = replace(RUN, engine="live", cpu_s=used, guard={"max_late_ms": late_ms}, outcome=Outcome.OK)
    return [(replace(TRIAL, arm="real"), run)] * 3


@pytest.mark.parametrize(
    ("attempts", "reported"),
    [
        (live(0.008), "differ by 5.0 ms; on the host client and server used 8.0 ms of CPU"),
        (live(0.008), "the host's processors can account for it"),
        (live(0.001, late_ms=7), "the link's lateness can account for it"),
        (live(0.001), "neither accounts for it"),
    ],
)
def test_the_resource_that_was_short_is_named(attempts: list[tuple[Trial, Run]], reported: str) -> None:
    (explained,) = attribute_bottlenecks([ESTIMATE], STUDY, attempts, "virtual")
    assert explained.reason is not None
    assert reported in explained.reason
    assert replace(explained, reason=None) == ESTIMATE


@pytest.mark.parametrize(
    "estimate",
    [
        replace(ESTIMATE, verdict=Verdict.EQUIVALENT),
        replace(ESTIMATE, verdict=Verdict.INCONCLUSIVE),
        replace(ESTIMATE, unit="Mbit/s"),
        replace(ESTIMATE, cell_id="another"),
    ],
)
def test_no_reason_is_given_without_evidence(estimate: Estimate) -> None:
    assert attribute_bottlenecks([estimate], STUDY, live(0.008), "virtual") == [estimate]


def test_arms_in_one_engine_are_not_compared_so() -> None:
    plain = replace(STUDY, arms=(Arm("real", "real", {}), Arm("made", "made", {})))
    for engine in ("live", "virtual"):
        assert attribute_bottlenecks([ESTIMATE], plain, live(0.008), engine) == [ESTIMATE]
