"""`longlook sbom`: arguments to calls; no logic of its own."""

from pathlib import Path
from typing import Annotated

import typer

from longlook.core.errors import InputError
from longlook.terminal.console import console, print_json


def sbom(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    out: Annotated[Path | None, typer.Option(help="Write it to this file.")] = None,
) -> None:
    """Print the software bill of materials of a run in CycloneDX: programs, libraries, guest kernel, digests."""
    from longlook.core.run_folder import RunFolder, write_json
    from longlook.pipeline.sbom import bill_of_materials

    bill = bill_of_materials(RunFolder.open(run_folder))
    if out is None:
        print_json(bill)
        return
    try:
        write_json(out, bill)
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written: {error.strerror}", "name another file") from error
    console().print(f"{out}: {len(bill['components'])} components", soft_wrap=True, markup=False)
