"""Estimates as a table and back."""

import pandas as pd

from longlook.analysis.stats import estimate, estimates_from_table, estimates_table
from tests.data.samples import QUIC, TCP, rows, study


def test_estimates_survive_parquet(tmp_path: object) -> None:
    samples = pd.concat([rows(TCP, QUIC, cell="a"), rows([None] * 3, [1.0, 2.0, None], cell="b")])
    estimates = estimate(samples, study(["a", "b"]))
    path = f"{tmp_path}/estimates.parquet"
    estimates_table(estimates).to_parquet(path, index=False)
    assert estimates_from_table(pd.read_parquet(path)) == estimates


def test_an_empty_table_of_estimates_has_its_columns() -> None:
    assert "p_adjusted" in estimates_table([]).columns
