"""`longlook link`: arguments to calls, and the distinction between a command and a subcommand."""

import os
import secrets
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from typer.core import TyperGroup

from longlook.core import InputError, InterruptedByUserError
from longlook.terminal import Renderings, document_printer, print_json

COMMAND = "longlook.instruments.link.command"
_TO_STANDARD_ERROR = "-"
_EXAMPLES = """Examples:

    longlook link --rate 5mbit --rtt 36ms --queue 30KB --loss 1% -- curl -O http://example.com/file

    longlook link --preset wolsing2019-dsl        (a shell behind a DSL line)

    longlook link --rtt 20ms --up rate=1mbit --down rate=20mbit -- ./client

    longlook link --isolated --server 'python3 -m http.server' --rate 10mbit -- sh -c 'curl $LONGLOOK_LINK_SERVER:8000'

docs/guide/link-tool.md explains each option."""


class LinkGroup(TyperGroup):
    """A group whose first argument may be any program: only describe, presets, export and import are subcommands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Set the command aside before options are read, so that its own options stay its own."""
        before, after = _split(_with_json_file(args))
        rest = super().parse_args(ctx, before)
        words = [*ctx._protected_args, *ctx.args]
        if after is None and words and words[0] in self.commands:
            return rest
        command = words if after is None else [*words, *(["--"] if words else []), *after]
        ctx.meta[COMMAND] = command
        ctx._protected_args, ctx.args = [], []
        return []


link_app = typer.Typer(
    cls=LinkGroup,
    invoke_without_command=True,
    subcommand_metavar="[-- COMMAND [ARGS]...]",
    help="Run a command, or a shell, behind an emulated link.",
    epilog=_EXAMPLES,
    rich_markup_mode=None,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Text = str | None


@link_app.callback()
def link(  # noqa: PLR0913 - an option each: options after `--` belong to the command that it runs
    ctx: typer.Context,
    rate: Annotated[Text, typer.Option(metavar="RATE", help="Both directions, e.g. 5mbit; default: unlimited.")] = None,
    rtt: Annotated[Text, typer.Option(metavar="TIME", help="Round-trip delay, half of it each way, e.g. 36ms.")] = None,
    queue: Annotated[
        Text, typer.Option(metavar="SIZE", help="30KB, 100packets or 2bdp; default 1bdp, without --rtt 150KB.")
    ] = None,
    loss: Annotated[
        Text, typer.Option(metavar="SHARE", help="Each way, e.g. 1%, or a loss model: docs/reference/studies.md.")
    ] = None,
    jitter: Annotated[Text, typer.Option(metavar="TIME", help="± around each way's delay, keeping order.")] = None,
    trace: Annotated[
        Text, typer.Option(metavar="FILE", help="The rate of both directions from a Mahimahi trace.")
    ] = None,
    preset: Annotated[Text, typer.Option(metavar="NAME", help="A named path: longlook link presets.")] = None,
    up: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Of packets that the command sends, e.g. rate=1mbit.")
    ] = None,
    down: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Of packets that it receives, e.g. loss=2%.")
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any other setting network.KEY of docs/reference/studies.md."),
    ] = None,
    surgery_up: Annotated[
        Text, typer.Option(metavar="TEXT", help="Single packets that the command sends: 'drop 30-32; hold 40 20ms'.")
    ] = None,
    surgery_down: Annotated[
        Text, typer.Option(metavar="TEXT", help="Single packets that it receives: 'forgive 12'.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, max=2**64 - 1, help="Same seed, same fates of packets; default: drawn, and printed at the end."
        ),
    ] = None,
    log: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep the fate of every packet here.")] = None,
    json_file: Annotated[
        Text,
        typer.Option("--json", metavar="[FILE]", help="Write the summary as JSON; without FILE to standard error."),
    ] = None,
    isolated: Annotated[bool, typer.Option("--isolated", help="No way out: nothing but the link's two ends.")] = False,
    server: Annotated[
        Text, typer.Option(metavar="'COMMAND'", help="Run this at the far end (with --isolated, which it implies).")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Run a command, or a shell, behind an emulated link. Messages about it go to standard error."""
    if ctx.invoked_subcommand is not None:
        return
    from longlook.core import link_program
    from longlook.instruments.link import options
    from longlook.instruments.link.run import LinkRequest
    from longlook.instruments.link.show import LinkDisplay

    named = {"rate": rate, "rtt": rtt, "queue": queue, "loss": loss, "jitter": jitter, "preset": preset}
    named |= {"surgery.up": surgery_up, "surgery.down": surgery_down}
    given = options.given_options(named, trace=trace, up=up or (), down=down or (), more=change or ())
    emulation = options.emulation(given)
    for option, path in (("--log", log), ("--json", Path(json_file) if json_file else None)):
        _check_place(option, path)
    request = LinkRequest(
        emulation.link,
        secrets.randbits(32) if seed is None else seed,
        link_program().path,
        tuple(ctx.meta[COMMAND] or [os.environ.get("SHELL") or "/bin/sh"]),
        isolated=isolated or server is not None,
        server=server,
        log=log,
    )
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, signal.getsignal(signal.SIGTERM))
    try:
        raise typer.Exit(LinkDisplay(emulation, request, json_file=json_file, quiet=quiet).run())
    except KeyboardInterrupt as error:
        raise InterruptedByUserError("stopped before the command began") from error


@link_app.command()
def describe() -> None:
    """Print every stage with its parameters, units and bounds as JSON."""
    from longlook.core import ask_link

    sys.stdout.write(ask_link("describe"))


@link_app.command()
def presets(as_json: AsJson = False) -> None:
    """List the named paths with their sources."""
    from longlook.network import list_presets

    known = list_presets()
    data = [
        {"name": preset.name, "summary": preset.summary, "source": preset.source, "notes": preset.notes}
        | {"settings": dict(preset.settings), "needs": list(preset.needs)}
        for preset in known
    ]
    table = Table("preset", "what", "source", box=None)
    for preset in known:
        table.add_row(preset.name, preset.summary, preset.source)
    document_printer(as_json=as_json).show(Renderings(lambda: [table], lambda: data))


@link_app.command()
def export(
    log: Annotated[Path, typer.Argument(help="A packet log: link.bin of a trial, or of --log.")],
    out: Annotated[Path, typer.Argument(metavar="OUT.pcapng")],
) -> None:
    """Write a packet log as pcapng, for Wireshark: headers, with each packet's fate as its comment."""
    from longlook.core import ask_link

    ask_link("pcapng", str(log), str(out))


@link_app.command("import")
def import_table(  # noqa: PLR0913 - an option each
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE", help="Measurements: CSV, blanks, JSON of Sabre or iperf3 -J; - is standard input."
        ),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT.csv", help="The trace, for network.rate = 'trace(OUT.csv)'.")],
    rate: Annotated[
        str, typer.Option(metavar="COLUMN[:UNIT]", help="Of the rate: bit, kbit, Mbit (default), Gbit, kB or MB.")
    ],
    rtt: Annotated[
        Text, typer.Option(metavar="COLUMN[:UNIT]", help="Of the round-trip delay, half of it each way: ms, s, us, ns.")
    ] = None,
    delay: Annotated[Text, typer.Option(metavar="COLUMN[:UNIT]", help="Of the delay of one way, instead.")] = None,
    loss: Annotated[Text, typer.Option(metavar="COLUMN[:UNIT]", help="Of the loss: % (default) or share.")] = None,
    time: Annotated[
        Text, typer.Option(metavar="COLUMN[:UNIT]", help="Of each row's time: s (default), ms, us; or dates.")
    ] = None,
    every: Annotated[Text, typer.Option(metavar="TIME", help="How long a row lasts, without --time: 1s.")] = None,
    lasts: Annotated[
        Text, typer.Option(metavar="COLUMN[:UNIT]", help="Of how long each row lasts, instead: s (default), ms, us.")
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=VALUE", help="Only rows with this value, e.g. run_num=1.")
    ] = None,
    separator: Annotated[
        Text, typer.Option(metavar="NAME", help="comma, semicolon, tab or blanks; default: whichever fits.")
    ] = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The first line has no names: columns are numbers, as 2:Mbit.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a trace of a table of measurements, such as Lumos5G's (docs/reference/study-network.md)."""
    from longlook.instruments.link.importing import import_to, reading_of

    reading = reading_of(
        rate,
        rtt=rtt,
        delay=delay,
        loss=loss,
        time=time,
        every=every,
        lasts=lasts,
        where=where or (),
        separator=separator,
        header=not no_header,
    )
    written = import_to(table, out, reading)
    if as_json:
        print_json(written.facts())
        return
    for line in written.lines():
        typer.echo(line, err=True)


def _split(args: list[str]) -> tuple[list[str], list[str] | None]:
    if "--" not in args:
        return args, None
    at = args.index("--")
    return args[:at], args[at + 1 :]


def _with_json_file(args: list[str]) -> list[str]:
    """`--json` alone as `--json=-`: the option's value may be left out, before another option, `--` and the end."""
    if args and args[0] in ("presets", "describe", "export", "import"):
        return args
    end = args.index("--") if "--" in args else len(args)
    return [
        f"--json={_TO_STANDARD_ERROR}"
        if word == "--json" and number < end and (number + 1 >= end or args[number + 1].startswith("-"))
        else word
        for number, word in enumerate(args)
    ]


def _check_place(option: str, path: Path | None) -> None:
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise InputError(f"{option} {path}: no such folder, or a folder itself", f"name a file: {option} FILE")
