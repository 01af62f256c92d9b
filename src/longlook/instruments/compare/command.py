"""`longlook compare` and `longlook bisect`: arguments to calls; no logic of their own."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longlook.core import InputError, InterruptedByUserError, codec
from longlook.instruments.compare import exits
from longlook.terminal import (
    Around,
    AsJsonLines,
    EngineOptions,
    Losses,
    check_file,
    completion,
    expand_options,
    new_folder,
)

if TYPE_CHECKING:
    from longlook.explain import Answer
    from longlook.instruments.compare.commands import CommandSpec
    from longlook.instruments.compare.gate import GateVerdict
    from longlook.instruments.compare.run_bisection import CommitRange
    from longlook.instruments.compare.spec import ComparisonSpec
    from longlook.terminal import FileForm, Printer


@dataclass(frozen=True)
class ComparisonOptions:
    """Options of a comparison, whichever the two sides are."""

    on: Annotated[
        list[str],
        typer.Option(
            "--on",
            metavar="NETWORK",
            help="A preset, or 10mbit,36ms,1bdp,1% or rate=…,rtt=…; repeat for more.",
            autocompletion=completion.networks,
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
    server_config: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONFIG",
            help="[baseline:|contender:]FILE, a configuration of yours for the server; once a side.",
        ),
    ] = None
    metric: Annotated[list[str] | None, typer.Option("--metric", help="Default: page_load_time; repeat for more.")] = (
        None
    )
    size: Annotated[str, typer.Option(help="Size of each object of the page, or of each file for an image.")] = "1MB"
    objects: Annotated[int, typer.Option(min=1, help="Objects of the page, or files for an image.")] = 1
    rounds: Annotated[
        int | None,
        typer.Option(help="Exactly this number of rounds on each network, from 10; default: as many as decide."),
    ] = None
    max_rounds: Annotated[int, typer.Option(help="Rounds on each network after which it stays undecided.")] = 40
    alpha: Annotated[
        float, typer.Option(help="How probable a wrong answer may be, over all networks and metrics together.")
    ] = 0.05
    seed: Annotated[int, typer.Option(min=0, help="Seed of the links' randomness.")] = 1

    server: Annotated[
        str | None,
        typer.Option(metavar="'COMMAND'", help="Of two commands: run this at the far end of a link without a way out."),
    ] = None

    around: Around = None
    losses: Losses = None

    def of_commands(self, baseline: str, contender: str) -> "CommandSpec":
        """Return the comparison of two commands; InputError for an option that is about stacks."""
        from longlook.instruments.compare import commands, spec
        from longlook.study import parse_networks

        applies = {"on", "gate", "rounds", "alpha", "seed", "server"}
        given = [
            field.name
            for field in fields(self)
            if field.name not in applies and getattr(self, field.name) not in (field.default, None)
        ]
        if given:
            option = f"--{given[0].replace('_', '-')}"
            raise InputError(f"{option} is about stacks, and both sides are commands", "leave it out")
        if not 0 < self.alpha < 1:
            raise InputError(f"--alpha {self.alpha:g}: it is between 0 and 1", "write for example --alpha 0.05")
        if self.rounds is not None and self.rounds < commands.FEWEST:
            raise InputError(f"--rounds {self.rounds}: a verdict needs {commands.FEWEST} rounds or more")
        networks, gate_pct = parse_networks(self.on), spec.parse_gate(self.gate)
        rounds = commands.ROUNDS if self.rounds is None else self.rounds
        return commands.CommandSpec(baseline, contender, networks, gate_pct, rounds, self.alpha, self.seed, self.server)

    def spec(self, baseline: str, contender: str, engine: str) -> "ComparisonSpec":
        """Return the comparison of two sides such as `quic-go@0.65.0`; InputError if an option cannot be."""
        from longlook.instruments.compare import spec
        from longlook.study import catalogue, default_around, default_losses, parse_networks

        if self.server is not None:
            raise InputError("--server is about commands, and the sides are stacks", "leave it out; --peer is a stack")
        roles = (*spec.ROLES, spec.BOTH)
        if self.role not in roles:
            raise InputError(f"--role {self.role}: there is no such role", f"allowed: {', '.join(roles)}")
        sides = [catalogue.parse_side(side, self.protocol) for side in (baseline, contender)]
        kind = spec.kind_of_load(sides, self.role, self.peer)
        return spec.ComparisonSpec(
            baseline=sides[0],
            contender=sides[1],
            networks=parse_networks(self.on),
            gate_pct=spec.parse_gate(self.gate),
            role=self.role,
            peer=self.peer,
            connection=self.connection,
            congestion_control=self.congestion_control,
            knobs=tuple(spec.parse_knob(knob) for knob in self.knob or []),
            configs=spec.parse_configs(self.server_config or []),
            metrics=tuple(dict.fromkeys(self.metric or ["page_load_time"])),
            workload={"kind": kind, "objects": self.objects, "object": self.size},
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

    def named(self) -> "dict[FileForm, Path | None]":
        """Return the files by their forms."""
        return {"junit": self.junit, "markdown": self.markdown}

    def check(self) -> None:
        """Raise InputError if a file cannot be written."""
        for form, file in self.named().items():
            check_file(f"--{form}", file)

    def printers(self) -> "list[Printer]":
        """Return a printer for each file that is wanted."""
        from longlook.terminal import FilePrinter

        return [FilePrinter(file, form) for form, file in self.named().items() if file is not None]


@dataclass(frozen=True)
class ComparisonAnswer(AnswerFiles):
    """Forms of a comparison's answer for other programs."""

    git_bisect_exit: Annotated[
        bool,
        typer.Option(
            exits.GIT_BISECT_EXIT,
            help="Exit as `git bisect run` wants it: 0, 1 worse, 125 undecided or not built, from 128 an error.",
        ),
    ] = False


@expand_options
def compare(
    baseline: Annotated[
        str,
        typer.Argument(
            metavar="BASELINE",
            help="STACK, STACK@VERSION or STACK:h2; or a command, as 'curl -sO URL'.",
            autocompletion=completion.stacks,
        ),
    ],
    contender: Annotated[str, typer.Argument(metavar="CONTENDER", help="The same.", autocompletion=completion.stacks)],
    options: ComparisonOptions,
    engine: EngineOptions,
    forms: ComparisonAnswer,
    why: WhyOptions,
    out: Annotated[Path | None, typer.Option(help="The run folder; default runs/compare-TIME.")] = None,
    as_json: AsJsonLines = False,
) -> None:
    """Compare two stacks, versions or commands; exit 1 if the contender is worse by more than the gate, 4 if that is
    undecided (docs/guide/compare.md)."""
    from longlook.instruments.compare.spec import are_commands

    forms.check()
    if are_commands(baseline, contender):
        _compare_commands(options.of_commands(baseline, contender), forms, why, out, as_json=as_json)
        return
    spec = options.spec(baseline, contender, engine.engine)
    # Here, so that a mistake in the options is reported before the libraries of the report are loaded.
    from longlook.instruments.compare.run import run_comparison, why_not_built
    from longlook.instruments.compare.show import comparison_shown
    from longlook.terminal import Printers, RunDisplay, answers_shown, lines_printer

    printer = lines_printer(as_json=as_json)
    display = RunDisplay(printer)
    try:
        with display:
            folder = out or new_folder("compare")
            if forms.git_bisect_exit and (reason := why_not_built(spec.contender, display.observer())):
                printer.report(f"skipped: {reason}", event="skipped", reason=reason)
                raise exits.CommitAnswer(exits.SKIP)
            result, judged = run_comparison(spec, folder, engine.run_options(), display.observer())
    except KeyboardInterrupt as error:
        raise InterruptedByUserError("stopped", "repeat the command: finished trials come from the cache") from error
    display.conclude(result)
    everywhere = Printers([*forms.printers(), printer])
    everywhere.show(comparison_shown(judged))
    if why.explain:  # when the answer is out, so that nothing that goes wrong here can lose it
        everywhere.show(answers_shown(_explain(judged.verdict, folder, why, engine, printer), folder))
    if forms.git_bisect_exit:
        raise exits.CommitAnswer(judged.verdict.answer.git_bisect_code)
    if not judged.verdict.passed:
        raise typer.Exit(judged.verdict.answer.exit_code)


def _compare_commands(
    spec: "CommandSpec", forms: ComparisonAnswer, why: WhyOptions, out: Path | None, *, as_json: bool
) -> None:
    from longlook.instruments.compare import commands_show
    from longlook.instruments.compare.commands import CommandRun, run_commands
    from longlook.instruments.compare.gate import GateAnswer
    from longlook.terminal import lines_printer

    if why.explain or forms.printers() or forms.git_bisect_exit:
        raise InputError("--explain, --junit, --markdown and --git-bisect-exit are about stacks", "leave them out")
    printer = lines_printer(as_json=as_json)
    folder = out or new_folder("compare")
    folder.mkdir(parents=True, exist_ok=True)
    rounds_file = folder / "rounds.csv"
    runs: list[CommandRun] = []

    def ran(run: CommandRun) -> None:
        runs.append(run)
        printer.report(commands_show.run_said(run, len(runs), spec), event="run", **codec.encode(run))

    try:
        cases = run_commands(spec, ran)
    except KeyboardInterrupt as error:
        raise InterruptedByUserError("stopped", f"rounds so far: {rounds_file}") from error
    finally:
        commands_show.write_rounds(runs, rounds_file)
    printer.show(commands_show.commands_shown(spec, cases, rounds_file))
    if (answer := commands_show.answer_of(cases)) is not GateAnswer.PASSED:
        raise typer.Exit(answer.exit_code)


@dataclass(frozen=True)
class CommitOptions:
    """The repository over whose commits a bisection goes."""

    git: Annotated[
        Path | None,
        typer.Option(
            "--git",
            metavar="PATH",
            help="GOOD and BAD are revisions of this repository, or of the folder in it that has the stack.",
        ),
    ] = None
    stack: Annotated[
        str | None, typer.Option(metavar="STACK", help="Of --git; default: the stack whose sources they are.")
    ] = None

    def range(self, good: str, bad: str) -> "CommitRange | None":
        """Return the commits between two revisions, None if the two are versions."""
        from longlook.instruments.compare.run_bisection import find_range

        if self.git is not None:
            return find_range(self.git, good, bad, self.stack)
        if self.stack is not None:
            raise InputError("--stack is about the commits of --git", "name a version as STACK@VERSION, or add --git")
        return None


@expand_options
def bisect(
    good: Annotated[str, typer.Argument(metavar="GOOD", help="STACK@VERSION, or with --git a revision.")],
    bad: Annotated[str, typer.Argument(metavar="BAD", help="A newer version of the same stack, or revision.")],
    commits: CommitOptions,
    options: ComparisonOptions,
    engine: EngineOptions,
    why: WhyOptions,
    out: Annotated[Path | None, typer.Option(help="Folder of the run folders; default runs/bisect-TIME.")] = None,
    as_json: AsJsonLines = False,
) -> None:
    """Find the first version or commit that is worse than GOOD by more than the gate (docs/guide/compare.md)."""
    searched = commits.range(good, bad)
    if searched is not None:
        good, bad = searched.ends
    spec = options.spec(good, bad, engine.engine)
    from longlook.instruments.compare.run_bisection import run_bisection, run_commit_bisection
    from longlook.instruments.compare.show import BisectionDisplay, bisection_shown, commit_bisection_shown
    from longlook.terminal import RunDisplay, answers_shown, lines_printer

    printer = lines_printer(as_json=as_json)
    steps = BisectionDisplay(printer)
    stack = spec.contender.stack
    try:
        with RunDisplay(printer) as display:
            folder, run = out or new_folder("bisect"), engine.run_options()
            if searched is None:
                found = run_bisection(spec, folder, run, display.observer(), steps.show)
                step, shown = found.step, bisection_shown(found, stack)
            else:
                first = run_commit_bisection(spec, searched, folder, run, display.observer(), steps.show)
                step, shown = first.step, commit_bisection_shown(first, stack)
    except KeyboardInterrupt as error:
        raise InterruptedByUserError("stopped", "repeat the command: finished trials come from the cache") from error
    printer.show(shown)
    if why.explain and step.verdict is not None and step.folder is not None:
        printer.show(answers_shown(_explain(step.verdict, step.folder, why, engine, printer), step.folder))


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
