"""`longlook measure`: arguments to calls; no logic of its own."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longlook.core import BY_DIGEST, BY_SIZE, USUAL_BASE_BOUND_MS, InputError, SiteUrlError, parse_site_url
from longlook.terminal import AsJsonLines, TrustPrograms, expand_options, new_folder, quoted

if TYPE_CHECKING:
    from longlook.instruments.measure.spec import MeasureSpec
    from longlook.outside import SiteAccess

_USUAL = "10Mbit,36ms,1bdp"


@dataclass(frozen=True)
class NetworkOptions:
    """The emulated networks: one by its settings, or several."""

    on: Annotated[
        list[str] | None,
        typer.Option(
            "--on", metavar="NETWORK", help=f"A preset, or 10mbit,36ms,1bdp,1%; repeat for more. Default: {_USUAL}."
        ),
    ] = None
    rate: Annotated[str | None, typer.Option(metavar="RATE", help="Of one network, both directions.")] = None
    rtt: Annotated[str | None, typer.Option(metavar="TIME", help="That the link adds to the path's own.")] = None
    queue: Annotated[str | None, typer.Option(metavar="SIZE", help="30KB, 100packets or 2bdp; default 1bdp.")] = None
    loss: Annotated[str | None, typer.Option(metavar="SHARE", help="Each way, e.g. 1%.")] = None

    def texts(self) -> list[str]:
        """Return the networks as `--on` has them; InputError if both forms are used."""
        named = {"rate": self.rate, "rtt": self.rtt, "queue": self.queue, "loss": self.loss}
        given = {name: value for name, value in named.items() if value is not None}
        if given and self.on:
            raise InputError(f"--{next(iter(given))} and --on exclude each other", "write all of it with --on")
        if not given:
            return self.on or [_USUAL]
        usual = {"rate": "10Mbit", "rtt": "36ms", "queue": "1bdp"}
        return [",".join(f"{name}={value}" for name, value in {**usual, **given}.items())]


@dataclass(frozen=True)
class AskOptions:
    """Who asks, and how much."""

    contact: Annotated[
        str | None,
        typer.Option(metavar="MAIL|URL", help="Whom the host may ask about these requests; or LONGLOOK_CONTACT."),
    ] = None
    resolver: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A DNS server; default: this machine's own.")
    ] = None
    ca: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Authorities, in PEM; default: this machine's own.")
    ] = None
    most_requests: Annotated[int, typer.Option(min=1, help="To a host within an hour, over all runs.")] = 300
    most_bytes: Annotated[str, typer.Option(metavar="SIZE", help="From a host within an hour, over all runs.")] = "1GB"
    pause: Annotated[str, typer.Option(metavar="TIME", help="Between two rounds.")] = "500ms"
    follow: Annotated[bool, typer.Option("--follow", help="Go where the URL leads, on the same host.")] = False

    def access(self) -> "SiteAccess":
        """Return the access to sites; InputError if nobody is named."""
        from longlook.core import units
        from longlook.outside import SiteAccess

        try:
            most_bytes, pause_ns = units.parse_size(self.most_bytes), units.parse_time(self.pause)
        except units.UnitError as error:
            raise InputError(f"--most-bytes {self.most_bytes}, --pause {self.pause}: {error}") from error
        return SiteAccess.from_environment(
            contact=self.contact,
            ca=self.ca,
            resolver=self.resolver,
            most_requests=self.most_requests,
            most_bytes=most_bytes,
            pause_s=pause_ns / 1e9,
        )


@dataclass(frozen=True)
class MeasureOptions:
    """The clients, the connections and the rounds."""

    client: Annotated[str, typer.Option(metavar="STACK", help="The client over HTTP/3.")] = "visitor"
    tcp_client: Annotated[str, typer.Option(metavar="STACK", help="The client over HTTP/2.")] = "visitor"
    connection: Annotated[str, typer.Option(help="cold, resumed or 0rtt (then HTTP/2 is resumed).")] = "cold"
    ip: Annotated[str, typer.Option(help="4: which addresses of the host; 6 is not there yet.")] = "4"
    compare: Annotated[str, typer.Option(help="How bodies must agree in a round: by digest or by size.")] = BY_DIGEST
    base_bound: Annotated[
        str, typer.Option(metavar="TIME", help="By how much the path itself may change within a round.")
    ] = f"{USUAL_BASE_BOUND_MS:g}ms"
    rounds: Annotated[int | None, typer.Option(help="Exactly this number; default: as many as decide.")] = None
    max_rounds: Annotated[int, typer.Option(help="Rounds after which it stays undecided.")] = 40
    timeout: Annotated[str, typer.Option(metavar="TIME", help="Of one request.")] = "60s"
    seed: Annotated[int, typer.Option(min=0, help="Seed of the links' randomness.")] = 1

    def spec(self, url: str, networks: list[str]) -> "MeasureSpec":
        """Return the measurement; InputError if an option cannot be."""
        from longlook.core import units
        from longlook.instruments.measure.spec import MeasureSpec
        from longlook.study import parse_networks

        for option, value, choices in (
            ("--connection", self.connection, ("cold", "resumed", "0rtt")),
            ("--compare", self.compare, (BY_DIGEST, BY_SIZE)),
            ("--ip", self.ip, ("4", "6")),
        ):
            if value not in choices:
                raise InputError(f"{option} {value}: not one of {', '.join(choices)}")
        try:
            place = parse_site_url(url)
            bound_ns = units.parse_time(self.base_bound)
        except SiteUrlError as error:
            raise InputError(f"{url}: {error}", "write for example https://www.example.org/file") from error
        except units.UnitError as error:
            raise InputError(f"--base-bound {self.base_bound}: {error}") from error
        return MeasureSpec(
            place,
            parse_networks(networks),
            h3_client=self.client,
            h2_client=self.tcp_client,
            h3_connection=self.connection,
            h2_connection="resumed" if self.connection == "0rtt" else self.connection,
            ip=self.ip,
            compare=self.compare,
            base_bound_ms=bound_ns / 1e6,
            rounds=self.rounds,
            max_rounds=self.max_rounds,
            timeout=self.timeout,
            seed=self.seed,
        )


@expand_options
def measure(
    url: Annotated[str, typer.Argument(metavar="URL", help="https://HOST/PATH, at port 443.")],
    networks: NetworkOptions,
    options: MeasureOptions,
    ask: AskOptions,
    trust_programs: TrustPrograms = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be sent where, and send nothing.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="The run folder; default runs/measure-TIME.")] = None,
    as_json: AsJsonLines = False,
) -> None:
    """Compare HTTP/3 with HTTP/2 of a host of the world outside, over emulated networks (docs/guide/endpoints.md)."""
    from longlook.core import trust

    spec, access = options.spec(url, networks.texts()), ask.access()
    # Here, so that a mistake in the options is reported before the libraries of the report are loaded.
    from longlook.engines import make_engine
    from longlook.instruments.measure.run import intent
    from longlook.instruments.measure.run import measure as run_measurement
    from longlook.instruments.measure.show import answer_shown, intent_shown
    from longlook.pipeline import RunOptions
    from longlook.terminal import RunDisplay, document_printer, lines_printer, run_display

    if dry_run:
        document_printer(as_json=as_json).show(intent_shown(intent(spec, access)))
        return
    if trust_programs:
        trust.trust_programs()
    printer, folder = lines_printer(as_json=as_json), out or new_folder("measure")
    display = RunDisplay(printer)
    run_options = RunOptions(make_engine("live"), command=("longlook", *sys.argv[1:]), access=access)

    def how_to_go_on() -> str | None:
        again = f"longlook run {quoted(folder)} --resume {quoted(folder)}"
        return f"finished trials are kept: {again}" if folder.exists() else None

    with run_display.going_on(how_to_go_on), display:
        measured, result = run_measurement(
            spec,
            folder,
            run_options,
            display.observer(),
            follow=ask.follow,
            say=lambda text: printer.report(text, event="note", text=text),
        )
    display.conclude(result)
    printer.show(answer_shown(measured, result))
