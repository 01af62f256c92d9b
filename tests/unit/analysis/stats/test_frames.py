"""Estimates as a table and back."""

import pandas as pd

from longlook.analysis.stats import dependences_table, estimate, estimates_from_table, estimates_table
from tests.data.samples import QUIC, TCP, around, draws, rows, study


def test_estimates_survive_parquet(tmp_path: object) -> None:
    samples = pd.concat([rows(TCP, QUIC, cell="a"), rows([None] * 3, [1.0, 2.0, None], cell="b")])
    estimates = estimate(samples, study(["a", "b"]))
    path = f"{tmp_path}/estimates.parquet"
    estimates_table(estimates).to_parquet(path, index=False)
    assert estimates_from_table(pd.read_parquet(path)) == estimates


def test_dependences_survive_parquet_beside_their_estimates(tmp_path: object) -> None:
    samples = pd.concat([around(rows(TCP, QUIC, cell="a"), draws(20)), rows(TCP, QUIC, cell="b")])
    estimates = estimate(samples, study(["a", "b"]))
    assert [len(item.dependences) for item in estimates] == [5, 0]
    path = f"{tmp_path}/dependences.parquet"
    dependences_table(estimates).to_parquet(path, index=False)
    read = estimates_from_table(estimates_table(estimates), pd.read_parquet(path))
    assert read == estimates
    assert {type(item.is_cliff) for item in read[0].dependences} == {bool}


def test_an_empty_table_of_dependences_has_its_columns() -> None:
    assert "p_cliff" in dependences_table([]).columns


def test_an_empty_table_of_estimates_has_its_columns() -> None:
    assert "p_adjusted" in estimates_table([]).columns
