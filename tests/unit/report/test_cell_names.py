"""Cell names are one vocabulary: every command takes what any command prints as a cell."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import longlook
from longlook.core.errors import InputError
from longlook.core.model import Study
from longlook.explain.rounds import find_cells
from longlook.instruments.compare import spec as comparison
from longlook.instruments.compare.spec import ComparisonSpec
from longlook.report.inside.page import full_label
from longlook.report.layout import cell_label
from longlook.report.wording import listed_cell
from longlook.study import catalogue, parse_networks
from longlook.study.cells import cell_id, cells_named, cells_of, labels_of
from longlook.study.files import find_study
from longlook.study.plan import chosen_cells, make_plan

STUDIES = sorted(file.stem for file in (Path(longlook.__file__).parent / "studies").glob("*.toml"))
PRINTED: Mapping[str, Callable[[Mapping[str, str]], str]] = {
    "id": cell_id,
    "report": cell_label,
    "sentence": listed_cell,
    "page of the inside": full_label,
    "progress": lambda labels: ", ".join(f"{name}={level}" for name, level in labels.items()),
    "levels": lambda labels: ",".join(labels.values()),
}
NETWORKS = [
    "10mbit,36ms",
    "10mbit,36ms,1%",
    "rate=10mbit,rtt=36ms,up.loss=2%",
    "wolsing2019-dsl",
    "36ms, 1bdp , 10mbit",
]


def compared(*networks: str) -> Study:
    side = catalogue.parse_side("quic-go", "h3")
    return comparison.make_study(ComparisonSpec(side, side, parse_networks(networks), 5.0, rounds=10))


@pytest.mark.parametrize("name", STUDIES)
def test_every_printed_name_of_a_cell_of_a_shipped_study_means_this_cell(name: str) -> None:
    study = find_study(name)
    known = {cell_id(labels): labels for labels in map(labels_of, cells_of(study))}
    for cell, labels in list(known.items())[:: max(1, len(known) // 12)]:
        for shown in (printed(labels) for printed in PRINTED.values()):
            assert cells_named(known, shown) == [cell]
            assert [cell_id(labels_of(chosen)) for chosen in chosen_cells(study, [shown])] == [cell]


@pytest.mark.parametrize("network", NETWORKS)
def test_the_network_that_compare_prints_means_its_cell(network: str) -> None:
    study = compared(*NETWORKS)
    trials = make_plan(study).trials
    (cell,) = {trial.cell_id for trial in trials if trial.cell["network"] == network.strip()}
    for printed in PRINTED.values():
        assert find_cells(trials, [printed({"network": network})]) == [cell]
        assert {trial.cell_id for trial in make_plan(study, [printed({"network": network})]).trials} == {cell}


def test_a_name_that_fits_several_cells_is_refused_with_their_ids() -> None:
    study = find_study("demo")
    with pytest.raises(InputError, match="fits several cells") as caught:
        chosen_cells(study, ["1MB"])
    assert caught.value.hint is not None
    assert "FACTOR=LEVEL" in caught.value.hint
    assert [labels_of(cell)["size"] for cell in chosen_cells(study, ["quic-go,10Mbit,1MB", "client=quic-go"])] == [
        "1MB"
    ]


_TEXT = st.text(st.sampled_from("ab1 ,·=%"), min_size=1, max_size=6).map(str.strip).filter(bool)


@given(
    st.lists(_TEXT.filter(lambda name: "=" not in name), min_size=1, max_size=3, unique=True),
    st.data(),
)
def test_names_of_odd_cells_mean_their_cell_or_several_and_never_another(
    factors: list[str], data: st.DataObject
) -> None:
    rows = data.draw(st.lists(st.tuples(*[_TEXT] * len(factors)), min_size=1, max_size=5, unique=True))
    labels = [dict(zip(factors, row, strict=True)) for row in rows]
    known = {cell_id(each): each for each in labels}
    assume(len(known) == len(labels))
    for cell, each in known.items():
        assert cells_named(known, cell) == [cell]
        for printed in PRINTED.values():
            assert cell in cells_named(known, printed(each)) or printed(each) in known
