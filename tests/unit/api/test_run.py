"""A run in Python: tables with one meaning a column, what was altered is refused, and labels of others are text."""

import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow.interchange import from_dataframe

import longlook.api as ll
from longlook.analysis.stats.procedures import effect_pct
from longlook.api import tables
from longlook.api.columns import CELLS, CLAIMS, ESTIMATES, FINDINGS, PLAN, SAMPLES, TABLES, VERDICTS, metric_column
from longlook.api.factors import number_columns
from longlook.api.runs import Run
from longlook.core import registry
from longlook.core.model import STATED, Better, Factor, Level, Study
from longlook.pipeline.answers import findings_table
from tests.data.answers import answer

FACTOR_COLUMNS = {"size", "size_bytes"}


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    """The run, to be damaged."""
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def test_a_metric_has_a_column_of_its_own(run: Run, folder: Path) -> None:
    table, file = run.samples(), pd.read_parquet(folder / "samples.parquet")
    assert len(table) == file["trial_id"].nunique() == 40
    for metric in ("page_load_time", "throughput"):
        own = file[file["metric"] == metric].set_index("trial_id")["value"]
        column = metric_column(metric, {"page_load_time": "s", "throughput": "Mbit/s"}[metric])
        assert table.set_index("trial_id")[column].to_dict() == own.to_dict()
    assert run.metrics == {name: unit for name, unit in table.attrs["units"].items() if name in run.metrics}


def test_levels_sort_as_numbers_and_rounds_count_as_on_the_page(run: Run, folder: Path) -> None:
    table = run.samples(["goodput"])
    assert list(table["size"].cat.categories) == ["5KB", "100KB"]
    assert table.sort_values("size")["size_bytes"].is_monotonic_increasing
    assert sorted(set(table["round"])) == list(range(1, 11))
    third = run.cell("5KB").trial("quic", round=3)
    (row,) = table[table["trial_id"] == third.id].to_dict("records")
    assert (row["cell"], row["arm"], row["round"]) == ("5KB", "quic", third.round)
    assert third.settings["round"] == 2, "files count from 0"


def test_the_long_table_says_the_unit_of_each_row(run: Run) -> None:
    table = run.samples_long()
    assert len(table) == 40 * len(run.metrics)
    assert table.groupby("metric")["unit"].nunique().max() == 1


def test_failures_are_missing_and_say_why(failing_folder: Path) -> None:
    table = ll.open(failing_folder).samples()
    failed = table[table["outcome"] == "failed"]
    assert len(failed) == 2
    assert failed["page_load_time_s"].isna().all()
    assert failed["reason"].str.len().min() > 3


def rows_of(study: Study, **columns: Sequence[Any]) -> pd.DataFrame:
    count = len(columns["round"])
    usual: dict[str, Any] = {"study": study.id, "cell": "5KB", "arm": "tcp", "attempt": 1, "metric": "page_load_time"}
    usual |= {"value": 1.0, "unit": "s", "outcome": "ok", "reason": None, "seed": 1, "factor.size": "5KB"}
    table = pd.DataFrame({name: [value] * count for name, value in usual.items()})
    table["trial_id"] = [f"t{number}" for number in range(count)]
    return table.assign(**columns)


def test_the_last_attempt_counts(ten_rounds: Study) -> None:
    samples = rows_of(ten_rounds, round=[0, 0, 1], attempt=[1, 2, 1], value=[9.0, 1.0, 2.0], trial_id=["a", "a", "b"])
    table = tables.wide(samples, ten_rounds, ["page_load_time"])
    assert table["page_load_time_s"].tolist() == [1.0, 2.0]
    assert table["attempt"].tolist() == [2, 1]


def test_the_stated_point_is_round_0_and_no_part_of_the_arrays(ten_rounds: Study) -> None:
    samples = rows_of(ten_rounds, round=[STATED, 0], value=[5.0, 6.0])
    table = tables.wide(samples, ten_rounds, ["page_load_time"])
    assert table["round"].tolist() == [0, 1]
    from longlook.api.arrays import dataset

    assert dataset(table, ten_rounds, {})["page_load_time_s"].sizes["round"] == 1


def test_two_values_of_a_trial_are_refused(ten_rounds: Study) -> None:
    with pytest.raises(ll.InputError, match="two values of page_load_time"):
        tables.wide(rows_of(ten_rounds, round=[0, 0]), ten_rounds, ["page_load_time"])


def test_a_million_rows(ten_rounds: Study) -> None:
    trials = 250_000
    names = ["page_load_time", "time_to_first_byte", "throughput", "goodput"]
    samples = rows_of(
        ten_rounds,
        round=np.repeat(np.arange(trials), 4),
        metric=names * trials,
        value=np.arange(4 * trials, dtype=np.float64),
        trial_id=np.repeat(np.arange(trials).astype(str), 4),
    )
    table = tables.wide(samples, ten_rounds, names)
    assert len(table) == trials
    assert table["throughput_mbps"].tolist() == list(range(2, 4 * trials, 4))


def test_documented_columns_are_those_of_the_tables(run: Run, folder: Path) -> None:
    study = ll.study(str(Path(__file__).parents[2] / "data" / "tiny.toml"))
    plain = {"FACTOR", "FACTOR_UNIT"}
    for documented, table in ((VERDICTS, run.verdicts), (CLAIMS, run.claims), (CELLS, run.cells), (PLAN, study.plan())):
        assert set(table.columns) == set(documented) - plain | FACTOR_COLUMNS
    assert set(SAMPLES) - {*plain, "METRIC_UNIT", "drawn.SETTING", "random_losses"} | FACTOR_COLUMNS | set(
        run.metrics
    ) == (set(run.samples().columns))
    assert set(ESTIMATES) - plain <= set(run.estimates.columns)
    assert set(FINDINGS) == set(findings_table([answer()]).columns) - {"study"}
    for table in TABLES.values():
        assert "cell_id" not in table, "one name for a cell everywhere"


def test_columns_of_metrics_are_distinct_and_end_with_their_unit() -> None:
    metrics = registry.load("metrics").values()
    names = {metric.name: metric_column(metric.name, metric.unit) for metric in metrics}
    assert len(set(names.values())) == len(names)
    assert names["throughput"] == "throughput_mbps"
    assert names["client_cpu_per_gb"] == "client_cpu_s_per_gb"
    assert names["client_calls_per_gb"] == "client_calls_per_gb"
    assert names["stalls"] == "stalls"
    assert all(names[m.name].endswith("_s") for m in metrics if m.unit == "s")


def factor(name: str, *levels: dict[str, Any]) -> Factor:
    return Factor(name, tuple(Level(str(each), each) for each in levels))


@pytest.mark.parametrize(
    ("made", "columns"),
    [
        (factor("rate", {"network.rate": "10Mbit"}, {"network.rate": "1Gbit"}), {"rate_bps": [1e7, 1e9]}),
        (factor("rtt", {"network.rtt": "36ms"}, {"network.rtt": "1s"}), {"rtt_s": [0.036, 1.0]}),
        (factor("loss", {"network.loss": "1%"}, {"network.loss": "0.5%"}), {"loss_pct": [1.0, 0.5]}),
        (factor("images", {"workload.objects": 1}, {"workload.objects": 10}), {"images_number": [1.0, 10.0]}),
        (factor("queue", {"network.queue": "1bdp"}, {"network.queue": "30KB"}), {}),
        (factor("client", {"client": "quic-go"}, {"client": "chromium"}), {}),
        (
            factor(
                "path", {"network.rate": "1Mbit", "network.rtt": "9ms"}, {"network.rate": "2Mbit", "network.rtt": "8ms"}
            ),
            {"path_rate_bps": [1e6, 2e6], "path_rtt_s": [0.009, 0.008]},
        ),
        (factor("arm", {"network.rate": "1Mbit"}), {"arm_bps": [1e6]}),
    ],
    ids=lambda value: value.name if isinstance(value, Factor) else "",
)
def test_numbers_of_levels(made: Factor, columns: dict[str, list[float]], ten_rounds: Study) -> None:
    study = replace(ten_rounds, factors=(made,))
    found = {column.name: list(column.numbers.values()) for column in number_columns(study)}
    assert found.keys() == columns.keys()
    for name, numbers in columns.items():
        assert found[name] == pytest.approx(numbers)


def test_a_factor_that_is_called_as_another_column_keeps_apart(ten_rounds: Study) -> None:
    study = replace(ten_rounds, factors=(factor("round", {"network.rate": "1Mbit"}),))
    samples = rows_of(study, round=[4]).assign(**{"factor.round": str({"network.rate": "1Mbit"})})
    table = tables.wide(samples, study, ["page_load_time"])
    assert table["round"].tolist() == [5]
    assert table["factor.round"].notna().all()
    assert table["round_bps"].tolist() == [1e6]


def test_verdicts_are_those_of_the_estimates(run: Run) -> None:
    verdicts, estimates = run.verdicts, run.estimates
    assert verdicts["verdict"].tolist() == estimates["verdict"].tolist() == ["better", "better"]
    assert verdicts["effect"].tolist() == [f"+{value:.0f} %" for value in estimates["effect_pct"]]
    paired = run.samples().pivot_table(index=["size", "round"], columns="arm", values="page_load_time_s")
    logs = (paired["quic"] / paired["tcp"]).map(math.log).groupby("size").mean()
    again = [effect_pct(-value, Better.LOWER, is_log=True) for value in logs]
    assert estimates["effect_pct"].tolist() == pytest.approx(again), "from the samples by hand"


def test_arrays_hold_the_samples(run: Run) -> None:
    arrays, table = run.to_xarray(), run.samples()
    assert arrays["throughput_mbps"].attrs["units"] == "Mbit/s"
    assert arrays["size_bytes"].values.tolist() == [5000.0, 100000.0]
    for row in table.to_dict("records"):
        at = {"size": row["size"], "arm": row["arm"], "round": row["round"]}
        assert float(arrays["page_load_time_s"].sel(at)) == row["page_load_time_s"]


@pytest.mark.filterwarnings("ignore:The Dataframe Interchange Protocol is deprecated")
def test_polars_and_arrow_take_the_tables(run: Run) -> None:
    """Polars takes either: the dataframe protocol, or Arrow's stream, which replaces that one."""
    table = run.samples()
    for taken in (from_dataframe(table), pa.table(table)):
        assert taken["page_load_time_s"].to_pylist() == table["page_load_time_s"].tolist()
        assert taken["size"].to_pylist() == table["size"].tolist()


def test_tables_are_the_caller_s_own(run: Run) -> None:
    run.samples()["page_load_time_s"] = 0.0
    run.estimates["verdict"] = "worse"
    assert run.samples()["page_load_time_s"].min() > 0
    assert set(run.verdicts["verdict"]) == {"better"}


def svg_of(figure: ll.Figure) -> str:
    """The texts of a figure with plain blanks."""
    return figure._repr_mimebundle_()["image/svg+xml"].replace("\N{NO-BREAK SPACE}", " ")


def test_the_heatmap_is_the_report_s(run: Run, folder: Path, tmp_path: Path) -> None:
    figure = run.heatmap()
    text = svg_of(figure)
    assert all(effect in text for effect in run.verdicts["effect"])
    for ending in ("svg", "png", "pdf"):
        assert figure.save(tmp_path / f"x.{ending}").stat().st_size > 1000
    with pytest.raises(ll.InputError, match="no picture"):
        figure.save(tmp_path / "x.docx")
    with pytest.raises(ll.InputError, match="cannot be written"):
        figure.save(tmp_path / "none" / "x.svg")


def test_curves_have_every_arm_and_level(run: Run) -> None:
    lines = svg_of(run.lines("throughput"))
    for label in ("5KB", "100KB", "TCP", "QUIC", "Mbit/s"):
        assert label in lines
    one = svg_of(run.cdf("100KB", "throughput", arms=["quic"]))
    assert "QUIC (n = 10)" in one
    assert "TCP" not in one


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda run: run.samples(["page_load_tim"]), "did you mean 'page_load_time'"),
        (lambda run: run.heatmap("tcp vs quic"), "no contrast 'tcp vs quic'"),
        (lambda run: run.cdf("5KB", "stalls"), "measures no 'stalls'"),
        (lambda run: run.cdf("5KB", arms=["tpc"]), "did you mean 'tcp'"),
        (lambda run: run.lines(x="rate"), "no factor 'rate'"),
        (lambda run: run.lines("goodput"), "no trial here has a value of goodput"),
        (lambda run: run.cdf("5KB", "goodput"), "no trial here has a value of goodput"),
        (lambda run: run.cell("6KB"), "is not a cell of this run"),
        (lambda run: run.cell("all"), "names 2 cells"),
        (lambda run: run.cell("5KB").trial("quick", round=1), "did you mean 'quic'"),
        (lambda run: run.cell("5KB").trial("quic", round=11), "has no round 11"),
        (lambda run: run.trial("0" * 16), "plans no trial"),
        (lambda run: run.cell("5KB").trial("quic", round=1).events, "has no events.parquet"),
        (lambda run: run.cell("5KB").trial("tcp", round=1).qlog, "left no qlog"),
    ],
)
def test_a_mistake_is_named(call: Any, words: str, run: Run) -> None:
    with pytest.raises(ll.InputError, match=words) as error:
        call(run)
    assert error.value.hint


@pytest.mark.parametrize("name", ["samples.parquet", "estimates.parquet", "claims.json"])
def test_an_altered_table_is_refused(name: str, copied: Path) -> None:
    with (copied / name).open("ab") as file:
        file.write(b" ")
    with pytest.raises(ll.InputError, match=f"{name} was changed since the run was analysed"):
        ll.open(copied)


def test_an_altered_trial_is_named_where_it_is_looked_at(copied: Path) -> None:
    run = ll.open(copied)
    trial, other = run.cell("5KB").trial("quic", round=1), run.cell("5KB").trial("quic", round=2)
    (trial.path / "client.jsonl").write_text("{}\n")
    with pytest.raises(ll.InputError, match=r"client\.jsonl was changed"):
        _ = trial.timeline
    assert len(other.timeline)
    with pytest.raises(ll.InputError, match="1 trial is not as sealed"):
        run.check()
    again = ll.open(copied).analyse(progress=False)
    assert list(again.altered) == [trial.id]
    assert "1 altered and counted out" in repr(again)
    assert again.samples().set_index("trial_id").loc[trial.id, "outcome"] == "invalid"


def test_a_sound_run_passes_its_check(run: Run) -> None:
    run.check()


def test_a_folder_of_another_version_is_refused(copied: Path) -> None:
    manifest = json.loads((copied / "manifest.json").read_text())
    (copied / "manifest.json").write_text(json.dumps({**manifest, "schema_version": 99}))
    with pytest.raises(ll.InputError, match="has schema version 99"):
        ll.open(copied)


def test_what_is_no_run_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ll.InputError, match="is not a run folder"):
        ll.open(tmp_path)


HOSTILE = '<img src=x onerror="alert(1)">'
FORMULA = "=HYPERLINK(1)"


@pytest.fixture
def hostile(copied: Path) -> Run:
    """The run, as if its author had chosen labels for others to stumble over."""
    run = ll.open(copied)
    study = run._study
    levels = tuple(
        replace(level, label=label) for level, label in zip(study.factors[0].levels, (HOSTILE, FORMULA), strict=True)
    )
    names = dict(zip(("5KB", "100KB"), (HOSTILE, FORMULA), strict=True))
    run._study = replace(study, title=HOSTILE, question=HOSTILE, factors=(replace(study.factors[0], levels=levels),))
    run._samples = run._samples.assign(**{"factor.size": run._samples["factor.size"].map(names)})
    run._estimates = [replace(item, cell={"size": names[item.cell["size"]]}, reason=HOSTILE) for item in run._estimates]
    return run


def test_labels_in_html_are_text(hostile: Run) -> None:
    text = hostile._repr_html_()
    assert "<img" not in text
    assert "&lt;img" in text
    bundle = hostile.lines()._repr_mimebundle_()
    assert "<img" not in bundle["image/svg+xml"]
    assert "<img" not in bundle["text/html"]


def test_labels_in_csv_are_no_formulas(hostile: Run, tmp_path: Path) -> None:
    file = ll.to_csv(hostile.verdicts, tmp_path / "x.csv")
    table = pd.read_csv(file)
    assert table["size"].tolist() == [HOSTILE, f"'{FORMULA}"]
    assert table["rounds"].tolist() == [10, 10]
    with pytest.raises(ll.InputError, match="cannot be written"):
        ll.to_csv(hostile.verdicts, tmp_path / "none" / "x.csv")


def test_the_html_of_a_run_has_its_verdicts(run: Run) -> None:
    text = run._repr_html_()
    assert text.count("▲ better") == 2
    assert "40 trials, 2 better" in text


def test_the_digest_is_the_manifest_s(run: Run, folder: Path) -> None:
    assert run.digest == json.loads((folder / "manifest.json").read_text()).get("results", {}).get("digest")


def test_answers_are_read_from_the_folder(run: Run) -> None:
    assert list(run.answers) == []
    assert "nothing to explain" in run.answers._repr_html_()


def test_an_answer_is_shown_with_its_changes() -> None:
    shown = ll.Explanations._of([answer()])
    assert shown[0].line in shown._repr_html_().replace("&#x27;", "'")
    assert len(shown[0].findings) >= 1
    assert shown[0].sentence.startswith(shown[0].line[:1].upper())


def test_a_figure_in_a_page_is_described_and_fits_it() -> None:
    figure = ll.Figure(alt.Chart(alt.Data(values=[{"x": 1}])).mark_point().encode(x="x:Q"), 'a "figure"')
    page = figure._repr_mimebundle_()["text/html"]
    assert page.startswith('<div role="img" aria-label="a &quot;figure&quot;"><svg style="max-width:100%')
