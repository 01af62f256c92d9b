"""Several contrasts in one heatmap."""

from longlook.core.model import Arm, Contrast, Study
from longlook.report.content import ReportContent
from longlook.report.contrasts.section import make_contrasts
from longlook.report.contrasts.together import make_together
from tests.data.report import paper_content, small_content, small_study

TEN = [0.5, 0.51, 0.49, 0.5, 0.52, 0.48, 0.5, 0.51, 0.49, 0.5]
FASTER = [value * 0.8 for value in TEN]
METRIC = "page_load_time"


def three(*contrasts: tuple[str, str]) -> Study:
    arms = [Arm(name, name.upper(), {}) for name in ("tcp", "bbr", "quic", "old")]
    pairs = tuple(Contrast(f"{contender} vs {base}", base, contender, METRIC) for base, contender in contrasts)
    return small_study(arms=tuple(arms), contrasts=pairs)


def content_of(study: Study) -> ReportContent:
    values = {"tcp": TEN, "bbr": TEN, "quic": FASTER, "old": TEN}
    return small_content({("10Mbit",): values, ("50Mbit",): values}, study)


def test_contrasts_with_one_baseline_are_rows_named_by_their_contenders() -> None:
    content = content_of(three(("tcp", "bbr"), ("tcp", "quic"), ("tcp", "old")))
    sections = make_contrasts(content, {})
    (together,) = make_together(content, sections)
    assert together.grid.rows == ("BBR", "QUIC", "OLD")
    assert together.grid.columns == ("10Mbit", "50Mbit")
    assert (together.baseline, together.contender) == ("TCP", "contender")
    assert {row: together.squares[row, "10Mbit"].verdict for row in together.grid.rows} == {
        "BBR": "equivalent", "QUIC": "better", "OLD": "equivalent",
    }  # fmt: skip
    own = {detail.anchor for detail in sections[1].details.values()}
    assert {together.details["QUIC", column].anchor for column in together.grid.columns} == own


def test_contrasts_with_several_baselines_name_both_arms() -> None:
    content = content_of(three(("tcp", "quic"), ("bbr", "quic"), ("tcp", "bbr")))
    (together,) = make_together(content, make_contrasts(content, {}))
    assert together.grid.rows == ("QUIC against TCP", "QUIC against BBR", "BBR against TCP")
    assert (together.baseline, together.contender) == ("baseline", "contender")


def test_two_contrasts_and_heatmaps_of_many_cells_stay_apart() -> None:
    few = content_of(three(("tcp", "quic"), ("bbr", "quic")))
    assert make_together(few, make_contrasts(few, {})) == []
    paper = paper_content("kakhki2017-fig6a")
    assert make_together(paper, make_contrasts(paper, {})) == []
