"""`longlook claims`: arguments to calls; no logic of its own."""

from pathlib import Path
from typing import Annotated

import typer


def claims(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN…", help="Run folders or entries of an atlas, of different studies.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for index.html, claims.json and figures/.")] = Path("claims"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the content of claims.json.")] = False,
) -> None:
    """Compare everything published with what the runs found: each claim, and sources that contradict each other."""
    from longlook.instruments.atlas.claims.run import survey_runs
    from longlook.instruments.atlas.claims.show import claims_shown
    from longlook.terminal.printer import document_printer

    survey, page = survey_runs(runs, out)
    document_printer(as_json=as_json).show(claims_shown(survey, page))
