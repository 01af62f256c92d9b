"""Tables of this package as files."""

import os
from pathlib import Path

import pandas as pd

from longlook.core import InputError
from longlook.report import write_csv


def to_csv(table: pd.DataFrame, path: str | os.PathLike[str]) -> Path:
    """Write a table as CSV and return the path: a spreadsheet runs no text of it, whoever chose its labels.

    `DataFrame.to_csv` writes texts as they are; a label such as `=1+1` is a formula then. InputError if the file
    cannot be written.
    """
    try:
        write_csv(table, Path(path))
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}", "name a file in a folder that is there") from (
            error
        )
    return Path(path)
