"""`longlook certify`: arguments to calls; no logic of its own."""

from pathlib import Path
from typing import Annotated

import typer

from longlook.core import LonglookError
from longlook.terminal import AsJsonLines, new_folder


def certify(
    quick: Annotated[bool, typer.Option("--quick", help="Minutes instead of hours: fewer cells and repeats.")] = False,
    out: Annotated[Path | None, typer.Option(help="Where it goes on or begins; default runs/certify-TIME.")] = None,
    part: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this part; repeat for more.")] = None,
    before: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Certificate to go on from, in a new --out; with the exactness.json next to it.",
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Trials at once; default: one for each CPU.")] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Run again what the cache holds.")] = False,
    as_json: AsJsonLines = False,
) -> None:
    """Measure how often verdicts, intervals and repeats are wrong; exit 1 if a level is missed.

    docs/explanation/trust.md has the method.
    """
    from longlook.core import codec
    from longlook.instruments.certify import trial_bank
    from longlook.instruments.certify.figures import write_figures
    from longlook.instruments.certify.run import CertifyOptions
    from longlook.instruments.certify.run import certify as run_certification
    from longlook.instruments.certify.show import certificate_shown
    from longlook.terminal import RunDisplay, at_once, going_on, lines_printer

    scale = trial_bank.QUICK if quick else trial_bank.FULL
    folder = out or new_folder("certify")
    options = CertifyOptions(scale, folder, tuple(part or ()), before, at_once(jobs), use_cache=not no_cache)
    printer = lines_printer(as_json=as_json)
    display = RunDisplay(printer)
    again = f"finished trials and parts are kept: repeat the command with --out {folder}"
    with going_on(lambda: again), display:
        certificate = run_certification(options, display.observer())
    figures = write_figures(codec.encode(certificate), folder / "figures")
    printer.show(certificate_shown(certificate, folder, figures))
    if not certificate.sound:
        raise LonglookError(
            "a level is missed, or a repeat differed", f"the rows marked above; {folder} has the trials"
        )
