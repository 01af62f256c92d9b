"""Tables as CSV files whose texts no spreadsheet takes for formulas."""

from pathlib import Path

import pandas as pd

from longlook.core import csv_cell


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a table without its index; texts, and names of columns, are `csv_cell`s, and numbers stay numbers."""
    shown = table.rename(columns=lambda name: csv_cell(str(name)))
    for name in shown:
        if not pd.api.types.is_numeric_dtype(shown[name]):
            shown[name] = shown[name].astype(object).map(_cell)
    shown.to_csv(path, index=False, lineterminator="\n")


def _cell(value: object) -> object:
    return csv_cell(value) if isinstance(value, str) else value
