"""`longlook compare` and `longlook bisect`: arguments to calls; no logic of their own."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longlook.core import InputError, InterruptedByUserError
from longlook.terminal import Around, AsJsonLines, EngineOptions, Losses, check_file, expand_options, new_folder

if TYPE_CHECKING:
    from longlook.explain import Answer
    from longlook.instruments.compare.gate import GateVerdict
    from longlook.instruments.compare.spec import ComparisonSpec
    from longlook.terminal import Printer


UNDECIDED_EXIT = 4


@dataclass(frozen=True)
class ComparisonOptions:
    """Options of a comparison, whichever the two sides are."""

    on: Annotated[
        list[str],
        typer.Option(
            "--on", metavar="NETWORK", help="A preset, or 10mbit,36ms,1bdp,1% or rate=…,rtt=…; repeat for more."
        ),
    ]
    gate: Annotated[str, typer.Option(help="How much worse the contender may be.")] = "5%"
    role: Annotated[str, typer.Option(help="What is compared: server, client or both.")] = "both"
    peer: Annotated[str, typer.Option(metavar="STACK", help="The other end, if one role is compared.")] = "quic-go"
    protocol: Annotated[str, typer.Option(help="h3 or h2, unless a side names its own as in quic-go:h2.")] = "h3"
    connection: Annotated[str, typer.Option(help="cold, resumed or 0rtt.")] = "cold"
    congestion_control: Annotated[
        str, typer.Option(help="Congestion control of the kernel's TCP, for sides that use it.")
    ] = "cubic"
    knob: Annotated[
        list[str] | None,
        typer.Option("--knob", metavar="SETTING", help="[baseline:|contender:][server.|client.]NAME=VALUE; repeat."),
    ] = None
    metric: Annotated[list[str] | None, typer.Option("--metric", help="Default: page_load_time; repeat for more.")] = (
        None
    )
    size: Annotated[str, typer.Option(help="Size of each object of the page.")] = "1MB"
    objects: Annotated[int, typer.Option(min=1, help="Objects of the page.")] = 1
    rounds: Annotated[
        int | None,
        typer.Option(help="Exactly this number of rounds on each network, from 10; default: as many as decide."),
    ] = None
    max_rounds: Annotated[int, typer.Option(help="Rounds on each network after which it stays undecided.")] = 40
    alpha: Annotated[
        float, typer.Option(help="How probable a wrong answer may be, over all networks and metrics together.")
    ] = 0.05
    seed: Annotated[int, typer.Option(min=0, help="Seed of the links' randomness.")] = 1

    around: Around = None
    losses: Losses = None

    def spec(self, baseline: str, contender: str, engine: str) -> "ComparisonSpec":
        """Return the comparison of two sides such as `quic-go@0.65.0`; InputError if an option cannot be."""
        from longlook.instruments.compare import spec
        from longlook.study import catalogue, default_around, default_losses

        roles = (*spec.ROLES, spec.BOTH)
        if self.role not in roles:
            raise InputError(f"--role {self.role}: there is no such role", f"allowed: {', '.join(roles)}")
        return spec.ComparisonSpec(
            baseline=catalogue.parse_side(baseline, self.protocol),
            contender=catalogue.parse_side(contender, self.protocol),
            networks=spec.parse_networks(self.on),
            gate_pct=spec.parse_gate(self.gate),
            role=self.role,
            peer=self.peer,
            connection=self.connection,
            congestion_control=self.congestion_control,
            knobs=tuple(spec.parse_knob(knob) for knob in self.knob or []),
            metrics=tuple(dict.fromkeys(self.metric or ["page_load_time"])),
            workload={"kind": "page", "objects": self.objects, "object": self.size},
            rounds=self.rounds,
            max_rounds=self.max_rounds,
            alpha=self.alpha,
            seed=self.seed,
            around=self.around or default_around(engine),
            losses=self.losses or default_losses(engine),
        )


@dataclass(frozen=True)
class WhyOptions:
    """Whether what is worse is explained, and with how many trials."""

    explain: Annotated[
        bool, typer.Option("--explain", help="Say why, wherever the contender is worse (docs/guide/explain.md).")
    ] = False
    budget: Annotated[
        int | None,
        typer.Option(min=0, metavar="TRIALS", help="Of --explain: at most this number of trials for each network."),
    ] = None


@dataclass(frozen=True)
class AnswerFiles:
    """Files for other programs and for people."""

    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML.")] = None
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a summary for a pull request.")] = None

    def check(self) -> None:
        """Raise InputError if one of them cannot be written."""
        check_file("--junit", self.junit)
        check_file("--markdown", self.markdown)

    def printers(self) -> "list[Printer]":
        """Return a printer for each file that is wanted."""
        from longlook.terminal import FilePrinter

        junit: list[Printer] = [] if self.junit is None else [FilePrinter(self.junit, "junit")]
        return junit if self.markdown is None else [*junit, FilePrinter(self.markdown, "markdown")]


@expand_options
def compare(
    baseline: Annotated[str, typer.Argument(metavar="BASELINE", help="STACK, STACK@VERSION or STACK:h2.")],
    contender: Annotated[str, typer.Argument(metavar="CONTENDER", help="The same.")],
    options: ComparisonOptions,
    engine: EngineOptions,
    files: AnswerFiles,
    why: WhyOptions,
    out: Annotated[Path | None, typer.Option(help="The run folder; default runs/compare-TIME.")] = None,
    as_json: AsJsonLines = False,
) -> None:
    """Compare two stacks or versions; exit 1 if the contender is worse by more than the gate, 4 if that is
    undecided (docs/guide/compare.md)."""
    files.check()
    spec = options.spec(baseline, contender, engine.engine)
    # Here, so that a mistake in the options is reported before the libraries of the report are loaded.
    from longlook.instruments.compare import gate
    from longlook.instruments.compare.run import run_comparison
    from longlook.instruments.compare.show import comparison_shown
    from longlook.terminal import Printers, RunDisplay, answers_shown, lines_printer

    printer = lines_printer(as_json=as_json)
    display = RunDisplay(printer)
    try:
        with display:
            folder = out or new_folder("compare")
            result, judged = run_comparison(spec, folder, engine.run_options(), display.observer())
    except KeyboardInterrupt as error:
        raise InterruptedByUserError("stopped", "repeat the command: finished trials come from the cache") from error
    display.conclude(result)
    everywhere = Printers([*files.printers(), printer])
    everywhere.show(comparison_shown(judged))
    if why.explain:  # when the answer is out, so that nothing that goes wrong here can lose it
        everywhere.show(answers_shown(_explain(judged.verdict, folder, why, engine, printer), folder))
    if not judged.verdict.passed:
        raise typer.Exit(UNDECIDED_EXIT if judged.verdict.answer is gate.GateAnswer.UNDECIDED else 1)


@expand_options
def bisect(
    good: Annotated[str, typer.Argument(metavar="GOOD", help="STACK@VERSION.")],
    bad: Annotated[str, typer.Argument(metavar="BAD", help="A newer version of the same stack.")],
    options: ComparisonOptions,
    engine: EngineOptions,
    why: WhyOptions,
    out: Annotated[Path | None, typer.Option(help="Folder of the run folders; default runs/bisect-TIME.")] = None,
    as_json: AsJsonLines = False,
) -> None:
    """Find the first version that is worse than GOOD by more than the gate (docs/guide/compare.md)."""
    spec = options.spec(good, bad, engine.engine)
    from longlook.instruments.compare.run import run_bisection
    from longlook.instruments.compare.show import BisectionDisplay, bisection_shown
    from longlook.terminal import RunDisplay, answers_shown, lines_printer

    printer = lines_printer(as_json=as_json)
    steps = BisectionDisplay(printer)
    try:
        with RunDisplay(printer) as display:
            folder = out or new_folder("bisect")
            bisection = run_bisection(spec, folder, engine.run_options(), display.observer(), steps.show)
    except KeyboardInterrupt as error:
        raise InterruptedByUserError("stopped", "repeat the command: finished trials come from the cache") from error
    printer.show(bisection_shown(bisection, spec.contender.stack))
    verdict = bisection.step.verdict
    if why.explain and verdict is not None:
        worse = folder / bisection.found.first_bad
        lines_printer(as_json=as_json).show(answers_shown(_explain(verdict, worse, why, engine, printer), worse))


def _explain(
    verdict: "GateVerdict", folder: Path, why: WhyOptions, engine: EngineOptions, printer: "Printer"
) -> "list[Answer]":
    from longlook.instruments.compare.run import explain_worse
    from longlook.terminal import RunDisplay

    try:
        with RunDisplay(printer) as display:
            return explain_worse(verdict, folder, why.budget, engine.run_options(), display.observer())
    except KeyboardInterrupt as error:
        raise InterruptedByUserError("stopped", f"go on with longlook explain {folder}") from error
