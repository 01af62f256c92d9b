"""The studies that are shipped: they read, plan, and claim what was published."""

from dataclasses import replace

import pytest

from longlook.core.model import Plan, Study
from longlook.instruments.atlas.papers import checks_laboratory
from longlook.network import loses_at_random
from longlook.study.contrast_filter import with_contrasts
from longlook.study.files import find_study, list_studies
from longlook.study.plan import make_plan
from longlook.study.tcp import PRESETS
from longlook.study.tcp import parameters as tcp_parameters

CLAIMS = {
    "demo": 12,
    "kakhki2017-fig6a": 21,
    "kakhki2017-fig6b": 18,
    **{f"kakhki2017-fig8{letter}": 21 for letter in "abc"},
    **{f"kakhki2017-fig8{letter}": 18 for letter in "def"},
}


@pytest.fixture(scope="module")
def studies() -> dict[str, Study]:
    return {study.id: study for study in list_studies()}


def test_all_are_there(studies: dict[str, Study]) -> None:
    assert set(CLAIMS) <= set(studies)


def _rounds(study: Study, plan: Plan) -> int:
    """Rounds, and one trial at the stated point if losses are integrated."""
    return study.rounds + (study.loss_strata and loses_at_random(plan.trials[0].link))


@pytest.mark.parametrize("name", CLAIMS)
def test_it_plans_and_claims_every_published_cell(studies: dict[str, Study], name: str) -> None:
    study = studies[name]
    plan = make_plan(study)
    cells = {trial.cell_id: trial.cell for trial in plan.trials}
    assert len(plan.trials) == len(cells) * len(study.arms) * _rounds(study, plan)
    assert len(study.claims) == CLAIMS[name]
    assert len(cells) == CLAIMS[name]
    assert sorted(map(sorted, (claim.cell.items() for claim in study.claims))) == sorted(
        map(sorted, (cell.items() for cell in cells.values()))
    )


@pytest.mark.parametrize(
    ("name", "cell", "effect_pct"),
    [
        ("kakhki2017-fig6a", ("10Mbit", "10MB"), None),
        ("kakhki2017-fig6b", ("100Mbit", "10KBx100"), -63),
        ("kakhki2017-fig8a", ("10Mbit", "200KB"), 57),
        ("kakhki2017-fig8b", ("100Mbit", "10MB"), 12),
        ("kakhki2017-fig8c", ("50Mbit", "200KB"), None),
        ("kakhki2017-fig8d", ("100Mbit", "5KBx200"), -63),
        ("kakhki2017-fig8e", ("50Mbit", "100KBx10"), 55),
        ("kakhki2017-fig8f", ("10Mbit", "1MBx1"), -82),
    ],
)
def test_spot_checks_against_the_published_figures(
    studies: dict[str, Study], name: str, cell: tuple[str, str], effect_pct: float | None
) -> None:
    (claim,) = [claim for claim in studies[name].claims if tuple(claim.cell.values()) == cell]
    assert claim.effect_pct == effect_pct
    assert claim.significant is (effect_pct is not None)


def test_the_conditions_are_the_papers(studies: dict[str, Study]) -> None:
    links = {name: make_plan(replace(studies[name], around={})).trials[0].link for name in CLAIMS}
    kinds = {name: [stage.kind for stage in link.down] for name, link in links.items()}
    assert kinds["kakhki2017-fig6a"] == ["rate", "delay"]
    assert kinds["kakhki2017-fig8a"] == kinds["kakhki2017-fig8d"] == ["loss", "rate", "delay"]
    assert kinds["kakhki2017-fig8c"] == kinds["kakhki2017-fig8f"] == ["rate", "delay", "jitter"]
    assert links["kakhki2017-fig8a"].down[0].parameters == {"probability": 0.01}
    assert links["kakhki2017-fig6b"].down[-1].parameters == {"delay_ns": 18_000_000}
    assert links["kakhki2017-fig8e"].up[-1].parameters == {"delay_ns": 56_000_000}
    assert links["kakhki2017-fig8f"].up[-1].parameters == {"jitter_ns": 10_000_000, "reorder": True}


@pytest.mark.parametrize("name", [name for name in CLAIMS if name.startswith("kakhki")])
def test_a_browser_can_take_the_clients_place(name: str) -> None:
    plain, browser = make_plan(find_study(name)), make_plan(find_study(name, changes={"client": "chromium"}))
    assert {trial.client.stack for trial in browser.trials} == {"chromium"}
    assert [trial.seed for trial in plain.trials] == [trial.seed for trial in browser.trials]
    assert not {trial.id for trial in plain.trials} & {trial.id for trial in browser.trials}


HEATMAPS = [name for name in CLAIMS if name.startswith("kakhki")]
REORDERED = ("kakhki2017-fig8c", "kakhki2017-fig8f")


@pytest.mark.parametrize("name", HEATMAPS)
def test_a_heatmap_has_a_ladder_of_baselines(studies: dict[str, Study], name: str) -> None:
    trials = {trial.arm: trial for trial in make_plan(studies[name]).trials}
    tcp = {arm: trial for arm, trial in trials.items() if trial.protocol == "h2"}
    assert {arm: trial.congestion_control for arm, trial in tcp.items()} == {
        "tcp": "cubic",
        "tcp-tuned": "cubic",
        "tcp-bbr": "bbr",
    }
    assert tcp["tcp"].tcp == tcp_parameters(PRESETS["stock"])
    assert tcp["tcp-tuned"].tcp == tcp["tcp-bbr"].tcp == tcp_parameters(PRESETS["tuned"])
    quic = {arm: dict(trial.server.knobs) for arm, trial in trials.items() if trial.protocol == "h3"}
    two, one = {"congestion_control": "cubic", "emulated_connections": 2}, {"congestion_control": "cubic"}
    fixed = {"quic-fixed": {**two, "adaptive_reordering": False}} if name in REORDERED else {}
    assert quic == {"quic": two, "quic-cubic": one, "quic-reno": {}, **fixed}
    assert trials["quic-reno"].server.version == "0.65.0"  # as it is shipped, not patched


@pytest.mark.parametrize("name", HEATMAPS)
def test_the_papers_values_are_claims_about_the_pair_nearest_to_it(studies: dict[str, Study], name: str) -> None:
    study = studies[name]
    main = study.contrasts[0]
    assert (main.baseline, main.contender) == ("tcp", "quic-fixed" if name in REORDERED else "quic")
    assert {claim.contrast for claim in study.claims} == {main.name}
    paper = with_contrasts(study, [f"contrast={main.name}"])
    plan = make_plan(paper)
    assert len(plan.trials) == CLAIMS[name] * 2 * _rounds(study, plan)
    assert len(paper.claims) == CLAIMS[name]


def test_the_demo_races_matched_controllers(studies: dict[str, Study]) -> None:
    trials = {trial.arm: trial for trial in make_plan(studies["demo"]).trials}
    assert trials["tcp"].congestion_control == trials["quic"].server.knobs["congestion_control"] == "cubic"
    assert "emulated_connections" not in trials["quic"].server.knobs  # one is the program's own
    assert trials["tcp"].server.version == trials["quic"].server.version
    assert trials["tcp"].tcp == tcp_parameters(PRESETS["stock"])


def test_the_demo_runs_the_browser_in_one_row_only(studies: dict[str, Study]) -> None:
    cells = {tuple(trial.cell.values()) for trial in make_plan(studies["demo"]).trials}
    assert {rate for client, rate, _ in cells if client == "chromium"} == {"50Mbit"}
    assert {rate for client, rate, _ in cells if client == "quic-go"} == {"10Mbit", "50Mbit", "100Mbit"}


def test_studies_draw_but_those_that_check_the_laboratory_compare_rounds_find_a_jump_or_lose_each_packet(
    studies: dict[str, Study],
) -> None:
    at_the_point = {name for name, study in studies.items() if not study.around}
    assert at_the_point == {
        *("engines-agree", "exactness", "phase-effects", "players-agree", "rules-agree"),
        *("kakhki2017-fig13-processor", "mishra-conformance", "mishra-conformance-bbr", "mishra-conformance-reno"),
        *("certify-strata", "single-losses", "deep-space"),
    }


def test_the_atlas_leaves_out_the_laboratorys_own_checks_alone(studies: dict[str, Study]) -> None:
    left_out = {name for name, study in studies.items() if checks_laboratory(study.source)}
    assert left_out == {"certify", "certify-power", "certify-strata", "exactness"}
