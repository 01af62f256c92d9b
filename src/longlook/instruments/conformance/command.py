"""`longlook stacks check`, `matrix` and `docs`: arguments to calls; no logic of their own."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from longlook.core import InputError, codec
from longlook.terminal import AsJson, Renderings, at_once, document_printer, output_console

Engine = Annotated[str, typer.Option(help="Where a trial's time comes from: virtual or live.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Trials at once; default: one for each CPU.")]


def stacks_check(
    parts: Annotated[
        list[str] | None, typer.Argument(metavar="NAME[@VERSION]…", help="Without a version the newest.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every version of every stack; installs what is missing.")
    ] = False,
    engine: Engine = "virtual",
    peer: Annotated[
        str | None,
        typer.Option(metavar="NAME[@VERSION]", help="Stack at the other end; default: the stack itself, else quic-go."),
    ] = None,
    jobs: Jobs = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Run again what the cache holds.")] = False,
    out: Annotated[Path | None, typer.Option(help="Keep the trials and conformance.json in this new folder.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check what a version declares, knob by knob; exit 1 if something does not hold."""
    from longlook.instruments.conformance.run import can_be_checked, check_all
    from longlook.instruments.conformance.saved import write_reports
    from longlook.instruments.conformance.show import report_shown
    from longlook.provision import stack_versions

    if every == bool(parts):
        raise InputError("name the versions to check, or all of them with --all", "longlook stacks list names them")
    chosen = [entry.name for entry in stack_versions() if can_be_checked(entry.stack)] if every else parts or []
    reports = []
    printer = document_printer(as_json=as_json)
    with _place(out) as place:
        made = check_all(chosen, engine, place, printer.report, peer=peer, jobs=_jobs(jobs), use_cache=not no_cache)
        for report in made:
            reports.append(report)
            if out is None and not report.failed:
                shutil.rmtree(place / f"{report.stack}@{report.version}", ignore_errors=True)
            printer.show(report_shown(report))
        if out is not None:
            write_reports(reports, out / "conformance.json")
    printer.show(Renderings(list, lambda: [codec.encode(report) for report in reports]))
    if any(report.failed for report in reports):
        raise typer.Exit(1)


def stacks_matrix(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME[@VERSION]…]", help="NAME is its newest; default: every stack.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every installed version, not only the newest: hours if there are many.")
    ] = False,
    protocol: Annotated[list[str] | None, typer.Option(help="h3 or h2; repeat for both, which is the default.")] = None,
    engine: Engine = "virtual",
    jobs: Jobs = None,
    out: Annotated[Path | None, typer.Option(help="Write matrix.json, matrix.md and index.html here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Try every client against every server; exit 1 if a pair that shares a protocol fails."""
    from longlook.instruments.conformance.run import matrices, write_matrices
    from longlook.instruments.conformance.show import matrix_lines

    printer = document_printer(as_json=as_json)
    with _place(None) as place:
        protocols, say = protocol or ("h3", "h2"), printer.report
        made = matrices(names or (), protocols, engine, place, say, every=every, jobs=_jobs(jobs))
        for matrix in made:
            if not matrix.reasons:
                shutil.rmtree(place / matrix.protocol, ignore_errors=True)
    if out is not None:
        write_matrices(made, out)
    printer.show(Renderings(lambda: map(matrix_lines, made), lambda: [codec.encode(matrix) for matrix in made]))
    if any(matrix.reasons for matrix in made):
        raise typer.Exit(1)


def stacks_docs(
    path: Annotated[Path, typer.Argument(help="The document whose generated blocks are made anew.")],
) -> None:
    """Write the tables of docs/reference/stack-tables.md from the results of checks and matrices on this machine.

    Results in the document that were not measured again stay, and are listed.
    """
    from longlook.instruments.conformance.documents import update

    for block in update(path):
        kept = f"; kept, not measured here: {', '.join(block.kept)}" if block.kept else ""
        output_console().print(f"{path}: {block.name}{kept}", markup=False)


@contextmanager
def _place(out: Path | None) -> Iterator[Path]:
    """Yield the folder for the trials: `out`, or a temporary one.

    A temporary one is removed at the end unless something is left in it: the trials of a failure, to look into.
    """
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        yield out
        return
    folder = Path(tempfile.mkdtemp(prefix="longlook-stacks-"))
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    if any(folder.iterdir()):
        typer.echo(
            f"the trials of what failed are kept in {folder}: see docs/guide/debugging.md, and remove it", err=True
        )
    else:
        folder.rmdir()


def _jobs(jobs: int | None) -> int:
    return at_once(jobs)
