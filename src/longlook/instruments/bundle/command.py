"""`longlook bundle` and `longlook verify`: arguments to calls; no logic of their own."""

import secrets
from pathlib import Path
from typing import Annotated

import typer

from longlook.core import InputError
from longlook.terminal import AsJson, TrustPrograms

_SEEDS = 1_000_000


def bundle(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder with its report.")],
    out: Annotated[Path | None, typer.Option(help="The file; default RUN.longlook.zip, in this folder.")] = None,
    artefacts: Annotated[bool, typer.Option("--artefacts", help="Add every raw file of each trial.")] = False,
    programs: Annotated[
        bool, typer.Option("--programs", help="Add the programs and the guest kernel, if they are single files.")
    ] = False,
    author: Annotated[
        list[str] | None, typer.Option(metavar="'NAME <ORCID>'", help="An author, for its metadata; repeat for more.")
    ] = None,
    licence: Annotated[
        str, typer.Option("--license", metavar="SPDX", help="Its licence, for its metadata: CC-BY-4.0, or an address.")
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a run as one file that a stranger can check: study, plan, digests, tables, report, RO-Crate metadata."""
    from longlook.instruments.bundle.crate import parse_person
    from longlook.instruments.bundle.layout import SUFFIX
    from longlook.instruments.bundle.make import BundleOptions, make_bundle
    from longlook.instruments.bundle.show import made_shown
    from longlook.terminal import at_work, document_printer

    target = out or Path(f"{run_folder.resolve().name}{SUFFIX}")
    options = BundleOptions(artefacts, programs, [parse_person(text) for text in author or ()], licence.strip())
    with at_work(f"writing {target}"):
        made = make_bundle(run_folder, target, options, overwrite=force)
    document_printer(as_json=as_json).show(made_shown(made))


def verify(
    bundle_or_run: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A bundle, or a run folder.")],
    sample: Annotated[str, typer.Option(metavar="5%|N|all", help="The trials that run again; 0: none.")] = "5%",
    seed: Annotated[int | None, typer.Option(min=0, help="Draws the sample; default: any, and it is printed.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Trials at once; default: one for each CPU.")] = None,
    use_programs: Annotated[
        bool, typer.Option("--use-programs", help="Run the programs that the bundle carries, not this machine's.")
    ] = False,
    keep: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep trials that differ, for diff-runs.")] = None,
    trust_programs: TrustPrograms = False,
    as_json: AsJson = False,
) -> None:
    """Check a bundle: every file, every seal, and a random part of the trials, run again. Exit 0: the same bytes."""
    from longlook.core import trust
    from longlook.instruments.bundle.show import fail_unless_same, verified_shown
    from longlook.instruments.bundle.verify import VerifyRequest
    from longlook.instruments.bundle.verify import verify as verify_bundle
    from longlook.terminal import RunDisplay, at_once, lines_printer, run_display

    if keep is not None and keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise InputError(f"--keep {keep} exists and is no empty folder", "choose another")
    if trust_programs:
        trust.trust_programs()
    drawn_by = secrets.randbelow(_SEEDS) if seed is None else seed
    request = VerifyRequest(sample, drawn_by, at_once(jobs), use_programs, keep)
    printer = lines_printer(as_json=as_json)
    display = RunDisplay(printer)
    with run_display.going_on(lambda: None), display:
        found = verify_bundle(bundle_or_run, request, display.observer())
    printer.show(verified_shown(found))
    fail_unless_same(found)
