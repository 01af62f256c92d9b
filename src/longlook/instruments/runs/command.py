"""`longlook runs`: arguments to calls; no logic of its own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from longlook.core import InputError
from longlook.terminal import AsJson, AsJsonLines, document_printer, lines_printer

if TYPE_CHECKING:
    from longlook.instruments.runs.notes import Notes

_HOME = Path("runs")


class _ListFirst(TyperGroup):
    """A group whose command `list` is meant if none is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `list` before what is no command and does not ask for help."""
        if not args or (args[0] not in self.commands and args[0] != "--help"):
            args = ["list", *args]
        return super().parse_args(ctx, args)


runs_app = typer.Typer(
    cls=_ListFirst, help="List runs: study, day, verdicts, digest, complete or not; note and tag them."
)

Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]


@runs_app.command("list")
def runs_list(
    places: Annotated[
        list[Path] | None, typer.Argument(metavar="[PLACE]…", help="Run folders, or folders of runs; default: runs/.")
    ] = None,
    study: Annotated[str | None, typer.Option(help="Only runs of this study.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only runs with this tag; repeat for more.")] = None,
    disk: Annotated[bool, typer.Option("--disk", help="Also say how much space each takes.")] = False,
    as_json: AsJson = False,
) -> None:
    """List runs, the latest first. This is what `longlook runs` does by itself."""
    from longlook.instruments.runs.listing import list_runs
    from longlook.instruments.runs.show import runs_shown

    home = [_HOME] if _HOME.is_dir() else []
    found = list_runs(places or home, with_size=disk)
    wanted = set(tag or ())
    chosen = [run for run in found if study in (None, run.study) and wanted <= set(run.notes.tags)]
    where = ", ".join(map(str, places or [_HOME]))
    nothing = f"no run below {where}" if not found else f"none of {len(found)} runs below {where} is one of these"
    document_printer(as_json=as_json).show(runs_shown(chosen, nothing))


@runs_app.command("note")
def runs_note(
    run: Run,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The note, in place of an earlier one; '': none.")],
    as_json: AsJson = False,
) -> None:
    """Keep a note with a run."""
    from longlook.core import RunFolder
    from longlook.instruments.runs.notes import write_note

    _show(run, write_note(RunFolder.open(run).path, text), as_json=as_json)


@runs_app.command("tag")
def runs_tag(
    run: Run,
    tags: Annotated[list[str], typer.Argument(metavar="TAG…", help="Such as paper-1.")],
    remove: Annotated[bool, typer.Option("--remove", help="Take the tags away.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tag a run, so that `longlook runs --tag` finds it."""
    from longlook.core import RunFolder
    from longlook.instruments.runs.notes import change_tags

    _show(run, change_tags(RunFolder.open(run).path, tags, remove=remove), as_json=as_json)


def stop(
    run: Run,
    wait: Annotated[float, typer.Option(min=0, metavar="SECONDS", help="How long to wait for its end.")] = 60.0,
    as_json: AsJson = False,
) -> None:
    """End a run of this machine as Ctrl-C does: finished trials stay, and it says how to go on."""
    from longlook.instruments.runs.show import stopped_shown
    from longlook.instruments.runs.stop import stop as stop_run

    document_printer(as_json=as_json).show(stopped_shown(stop_run(run, wait)))


def watch(
    run: Run,
    page: Annotated[
        bool, typer.Option("--page", help="Show it in a browser, too: a page of this machine that fills meanwhile.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port of the page; default: any.")] = 0,
    as_json: AsJsonLines = False,
) -> None:
    """Show the progress of a run of another process until it has ended. Exit 1 if its trials are not all finished."""
    from longlook.instruments.runs.progress import Follower
    from longlook.instruments.runs.watch import watch as watch_run

    if port and not page:
        raise InputError("--port is for --page", "add --page, or leave it out")
    printer = lines_printer(as_json=as_json)
    if not page:
        watch_run(Follower(run), printer)
        return
    from longlook.instruments.runs.watch_page import watch_page

    watch_page(Follower(run), printer, port)


def _show(run: Path, notes: "Notes", *, as_json: bool) -> None:
    from longlook.instruments.runs.show import notes_shown

    document_printer(as_json=as_json).show(notes_shown(run, notes))
