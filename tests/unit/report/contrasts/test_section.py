"""Every sample of a contrast in one figure."""

from longlook.core.model import Factor, Figure, Level
from longlook.report.contrasts.section import sample_chart
from longlook.report.layout import make_grid
from tests.data.report import small_content, small_study


def test_samples_stay_in_their_panels_where_cells_are_missing() -> None:
    levels = tuple(Level(label, {}) for label in ("5KB", "1MB"))
    study = small_study(
        factors=(Factor("rate", (Level("10Mbit", {}), Level("50Mbit", {}))), Factor("size", levels)),
        figure=Figure("size", ("rate",)),
    )
    content = small_content(
        {
            ("10Mbit", "1MB"): {"tcp": [1.0] * 10, "quic": [2.0] * 10},
            ("50Mbit", "5KB"): {"tcp": [None] * 10, "quic": [3.0] * 10},
        },
        study,
    )
    chart = sample_chart(content, study.contrasts[0], make_grid(content, study.contrasts[0]), "title").to_dict()
    panels = [
        [
            chart["datasets"][panel["data"]["name"]] if "name" in panel["data"] else panel["data"]["values"]
            for panel in line["hconcat"]
        ]
        for line in chart["vconcat"]
    ]
    assert [[{row.get("value") for row in panel} for panel in line] for line in panels] == [
        [{None}, {1.0, 2.0}],
        [{3.0}, {None}],
    ]
