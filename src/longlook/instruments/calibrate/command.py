"""`longlook calibrate`: the link against theory, and servers against a reference; no logic of its own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from longlook.core import InputError, InterruptedByUserError, codec
from longlook.terminal import AsJson, EngineOptions, expand_options, new_folder


@dataclass(frozen=True)
class ServerOptions:
    """Whether servers are compared instead of the link, and which."""

    servers: Annotated[
        bool, typer.Option("--servers", help="Compare servers with a reference instead of the link with theory.")
    ] = False
    server: Annotated[
        list[str] | None,
        typer.Option(metavar="STACK[@VERSION][:h2]", help="Compare this server with the reference; repeat for more."),
    ] = None
    rounds: Annotated[
        int | None, typer.Option(min=1, max=100_000, help="Of --servers: exactly this number of rounds; default: 10.")
    ] = None

    @property
    def asked_for(self) -> bool:
        """Whether servers are to be compared."""
        return self.servers or bool(self.server)

    def check(self, engine: EngineOptions, *, aa: bool) -> None:
        """Raise InputError if an option means nothing beside the others."""
        if self.asked_for and aa:
            raise InputError("--aa is about the link, --servers about servers", "ask for one of them")
        if not self.asked_for and (self.rounds is not None or engine.jobs is not None or engine.no_cache):
            raise InputError("--rounds, --jobs and --no-cache are about --servers", "add --servers")


@expand_options
def calibrate(
    servers: ServerOptions,
    engine: EngineOptions,
    aa: Annotated[bool, typer.Option("--aa", help="Also load a page with the same arm twice, and compare.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Also write the table and the packets' times here; of --servers: the run folder."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the link emulator with theory and with the kernel's netem; exit 1 if it is out of tolerance.
    With --servers: compare what servers wait and receive with a reference (docs/explanation/trust.md)."""
    servers.check(engine, aa=aa)
    if servers.asked_for:
        _compare_servers(servers, engine, out, as_json=as_json)
        return
    from longlook.instruments.calibrate.run import run_calibration
    from longlook.instruments.calibrate.show import calibration_summary
    from longlook.terminal import Renderings, document_printer

    printer = document_printer(as_json=as_json)
    result = run_calibration(engine.engine, printer.report, out, aa=aa)
    printer.show(Renderings(lambda: [calibration_summary(result)], lambda: codec.encode(result)))
    if not result.passed:
        raise typer.Exit(1)


def _compare_servers(servers: ServerOptions, engine: EngineOptions, out: Path | None, *, as_json: bool) -> None:
    from longlook.instruments.calibrate.servers import run_servers, servers_study

    study = servers_study(servers.server or (), servers.rounds, engine=engine.engine)
    # Here, so that a mistake in the options is reported before the libraries of the report are loaded.
    from longlook.instruments.calibrate.show import servers_shown
    from longlook.terminal import RunDisplay, fail_where_altered, fail_without_trials, lines_printer

    folder = out or new_folder("servers")
    printer = lines_printer(as_json=as_json)
    display = RunDisplay(printer)
    try:
        with display:
            result, found = run_servers(study, folder, engine.run_options(), display.observer())
    except KeyboardInterrupt as error:
        hint = "repeat the command with a new --out or none: finished trials come from the cache"
        raise InterruptedByUserError("stopped", hint) from error
    display.conclude(result)
    printer.show(servers_shown(found, study))
    fail_where_altered(result)
    fail_without_trials(result)
