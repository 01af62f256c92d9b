"""`longlook decide` and `longlook population`: arguments to calls; no logic of their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longlook.core import InputError
from longlook.terminal import (
    AsJson,
    AsJsonLines,
    EngineOptions,
    document_printer,
    expand_options,
    lines_printer,
    new_folder,
)

if TYPE_CHECKING:
    from longlook.instruments.decide.spec import DecideSpec
    from longlook.pipeline import Observer

_MOST_CELLS = 60


@dataclass(frozen=True)
class Question:
    """Whose pages, which server, which users, and how closely they are looked at."""

    users: Annotated[Path, typer.Option(metavar="FILE", help="Users: a TOML file, or a CSV of measurements.")]
    page: Annotated[
        list[str] | None,
        typer.Option(metavar="HAR", help="A recorded page, or one that comes with Longlook; repeat for more."),
    ] = None
    server: Annotated[str, typer.Option(metavar="STACK", help="nginx, caddy, envoy or haproxy, with a version.")] = (
        "nginx@1.30.6"
    )
    client: Annotated[str, typer.Option(metavar="STACK", help="quic-go, pycurl or a browser.")] = "quic-go"
    cells: Annotated[
        int, typer.Option(min=1, max=_MOST_CELLS, help="Networks that stand for users who were measured.")
    ] = 12
    rounds: Annotated[int, typer.Option(min=2, help="Rounds of each cell.")] = 10
    seed: Annotated[int, typer.Option(min=0, help="Seed of the links' randomness.")] = 1

    def spec(self) -> "DecideSpec":
        """Return the decision; InputError if an option cannot be."""
        from longlook.instruments.decide.spec import make_spec

        if not self.page:
            raise InputError("no page", "--page FILE.har, or one that comes with Longlook: docs, shop or news")
        return make_spec(
            self.page, self.server, self.client, self.users, cells=self.cells, rounds=self.rounds, seed=self.seed
        )


@expand_options
def decide(
    question: Question,
    engine: EngineOptions,
    settings: Annotated[
        bool, typer.Option("--settings/--no-settings", help="Also find out what each setting of the server is worth.")
    ] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print cells, trials and time, and start nothing.")] = (
        False
    ),
    out: Annotated[Path | None, typer.Option(help="A new folder; default runs/decide-TIME.")] = None,
    as_json: AsJsonLines = False,
) -> None:
    """Say whether HTTP/3 should be turned on: for your pages, your server and your users (docs/guide/decide.md)."""
    spec = question.spec()
    folder = out or new_folder("decide")
    # Here, so that a mistake in the options is reported before the libraries of the report are loaded.
    from longlook.instruments.decide.run import decide as run_decision
    from longlook.instruments.decide.run import preview
    from longlook.instruments.decide.show import answer_shown, preview_shown
    from longlook.instruments.decide.texts import decision_text
    from longlook.terminal import RunDisplay, run_display

    options = engine.run_options()
    if dry_run:
        seen = preview(spec, folder, options, with_settings=settings)
        document_printer(as_json=as_json).show(preview_shown(spec, seen))
        return
    from longlook.instruments.decide.page import write_page

    printer = lines_printer(as_json=as_json)

    @contextmanager
    def shown(title: str) -> "Iterator[Observer]":
        printer.report(title, event="study", title=title)
        display = RunDisplay(printer)
        with run_display.going_on(lambda: "finished trials are in the cache: repeat the command"), display:
            yield display.observer()

    decided = run_decision(spec, folder, options, shown, with_settings=settings)
    text = decision_text(decided)
    written = write_page(folder, text, decided.main, decided.settings)
    printer.show(answer_shown(text, decided.main, decided.settings, written))


def population(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or the folder of a decision.")],
    users: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Users: a TOML file, or a CSV of measurements; default: the study's own."),
    ] = None,
    metric: Annotated[list[str] | None, typer.Option(help="A metric of the run; repeat for more. Default: all.")] = (
        None
    ),
    out: Annotated[Path | None, typer.Option(help="The folder of the page; default RUN/population.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what a finished run means for users: effects as a distribution over them. No trial runs."""
    from longlook.core import RunFolder
    from longlook.instruments.decide.page import write_page
    from longlook.instruments.decide.run import MAIN
    from longlook.instruments.decide.show import answer_shown
    from longlook.instruments.decide.texts import population_text
    from longlook.pipeline import answer_users, users_of

    place = run / MAIN if (run / MAIN / "manifest.json").is_file() else run
    folder = RunFolder.open(place)
    found = answer_users(folder, users_of(folder, users), tuple(metric or ()))
    text = population_text(folder, found)
    written = write_page(out or place / "population", text, found)
    document_printer(as_json=as_json).show(answer_shown(text, found, None, written))
