"""`longlook calibrate`: the link against theory, and servers against a reference; no logic of its own."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from longlook.cli.options import AsJson, expand_options
from longlook.cli.terminal import console, print_json
from longlook.core import codec
from longlook.core.cpus import usable_cpus
from longlook.core.errors import InputError, InterruptedByUserError


@dataclass(frozen=True)
class ServerOptions:
    """Whether servers are compared instead of the link, and which."""

    servers: Annotated[
        bool, typer.Option("--servers", help="Compare servers with a reference instead of the link with theory.")
    ] = False
    server: Annotated[
        list[str] | None,
        typer.Option(metavar="STACK[@VERSION][:h2]", help="Of --servers: this one beside the reference; repeat."),
    ] = None
    rounds: Annotated[int | None, typer.Option(min=1, help="Of --servers: default 10.")] = None
    jobs: Annotated[int | None, typer.Option(min=1, help="Of --servers: trials at once; default: all CPUs.")] = None

    @property
    def asked_for(self) -> bool:
        """Whether servers are to be compared."""
        return self.servers or bool(self.server)

    def check(self, *, aa: bool) -> None:
        """Raise InputError where an option means nothing beside the others."""
        if self.asked_for and aa:
            raise InputError("--aa is about the link, --servers about servers", "ask for one of them")
        if not self.asked_for and (self.rounds is not None or self.jobs is not None):
            raise InputError("--rounds and --jobs are about --servers", "add --servers")


@expand_options
def calibrate(
    servers: ServerOptions,
    engine: Annotated[
        str, typer.Option(help="Where time comes from: virtual (in a guest) or live (this host).")
    ] = "virtual",
    aa: Annotated[bool, typer.Option("--aa", help="Also load a page with the same arm twice, and compare.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Also write the table and the packets' times here; of --servers: the run folder."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the link emulator with theory and with the kernel's netem; exit 1 where it is out of tolerance.
    With --servers: compare what servers wait and receive with a reference (docs/calibration.md)."""
    servers.check(aa=aa)
    if servers.asked_for:
        _compare_servers(servers, engine, out, as_json=as_json)
        return
    from longlook.cli.show.calibration import calibration_summary
    from longlook.pipeline.calibrate import run_calibration

    result = run_calibration(engine, (lambda _text: None) if as_json else console().print, out, aa=aa)
    if as_json:
        print_json(codec.encode(result))
    else:
        console().print(calibration_summary(result))
    if not result.passed:
        raise typer.Exit(1)


def _compare_servers(servers: ServerOptions, engine: str, out: Path | None, *, as_json: bool) -> None:
    from longlook.compare.servers import run_servers, servers_study

    study = servers_study(servers.server or (), servers.rounds)
    # Here, so that a mistake in the options is reported before the libraries of the report are loaded.
    from longlook.cli.show.run import RunDisplay
    from longlook.cli.show.servers import show_servers
    from longlook.engines.choice import make_engine
    from longlook.pipeline.options import RunOptions

    jobs, command = servers.jobs or len(usable_cpus()), ("longlook", *sys.argv[1:])
    options = RunOptions(make_engine(engine), jobs=jobs, command=command)
    folder = out or Path("runs") / f"servers-{time.strftime('%Y%m%d-%H%M%S')}"
    display = RunDisplay(as_json=as_json)
    try:
        with display:
            result, found = run_servers(study, folder, options, display.observer())
    except KeyboardInterrupt as error:
        raise InterruptedByUserError("stopped", "repeat the command: finished trials come from the cache") from error
    show_servers(found, result, as_json=as_json)
