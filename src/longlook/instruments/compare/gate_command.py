"""`longlook gate`: arguments to calls; no logic of its own."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longlook.core import InterruptedByUserError
from longlook.instruments.compare.command import AnswerFiles
from longlook.terminal import AsJsonLines, EngineOptions, expand_options, new_folder

if TYPE_CHECKING:
    from longlook.terminal import FileForm


@dataclass(frozen=True)
class ChangeOptions:
    """The change that is judged."""

    base: Annotated[str, typer.Option(metavar="REV", help="The branch that the change is for.")] = "main"
    head: Annotated[
        str | None, typer.Option(metavar="REV", help="A revision in place of the working tree as it is.")
    ] = None
    stack: Annotated[str, typer.Option(help="The stack; default: the one whose sources these are.")] = ""
    of: Annotated[str, typer.Option(metavar="VERSION", help="The known version that the sources are nearest to.")] = ""
    only: Annotated[list[str] | None, typer.Option(help="A case of the suite; repeat for more.")] = None
    gate: Annotated[
        str, typer.Option(metavar="SHARE", help="How much worse the change may be; default: the suite's own, else 5%.")
    ] = ""


@dataclass(frozen=True)
class ReasonOptions:
    """Whether what is worse is explained."""

    explain: Annotated[bool, typer.Option(help="Say why, wherever the change is worse.")] = True
    budget: Annotated[
        int, typer.Option(min=0, metavar="TRIALS", help="At most this number of trials for each explanation.")
    ] = 60


@dataclass(frozen=True)
class GateFiles(AnswerFiles):
    """Files for pipelines, in addition."""

    sarif: Annotated[Path | None, typer.Option(metavar="FILE", help="Write what does not pass as SARIF.")] = None
    benchmark: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write values for github-action-benchmark.")
    ] = None
    bencher: Annotated[Path | None, typer.Option(metavar="FILE", help="Write values for Bencher.")] = None

    def named(self) -> "dict[FileForm, Path | None]":
        """Return the files by their forms."""
        own: dict[FileForm, Path | None] = {
            "sarif": self.sarif,
            "benchmark": self.benchmark,
            "bencher": self.bencher,
        }
        return {**super().named(), **own}


@expand_options
def gate(
    change: ChangeOptions,
    engine: EngineOptions,
    files: GateFiles,
    reasons: ReasonOptions,
    tree: Annotated[Path, typer.Argument(metavar="[TREE]", help="A checkout of a stack.")] = Path(),
    out: Annotated[Path | None, typer.Option(help="The run folder; default runs/gate-TIME.")] = None,
    as_json: AsJsonLines = False,
) -> None:
    """Judge a change of a stack against the commit from which it parted from its base; exit 1 if it is worse, 4 if
    that is undecided (docs/guide/your-stack.md)."""
    files.check()
    from longlook.instruments.compare import tree_gate
    from longlook.instruments.compare.gate_output import gate_shown
    from longlook.study import default_around, default_losses
    from longlook.terminal import Printers, RunDisplay, lines_printer

    request = tree_gate.GateRequest(
        tree, change.base, change.head, change.stack, change.of, tuple(change.only or ()), change.gate
    )
    found = tree_gate.find_change(request)
    spec = tree_gate.make_spec(found, default_losses(engine.engine), default_around(engine.engine))
    printer = lines_printer(as_json=as_json)
    options = engine.run_options()
    try:
        with RunDisplay(printer) as display:
            folder = out or new_folder("gate")
            result = tree_gate.run_gate(
                found, spec, folder, options, display.observer(), reasons.budget, explain=reasons.explain
            )
    except KeyboardInterrupt as error:
        raise InterruptedByUserError("stopped", "repeat the command: finished trials come from the cache") from error
    Printers([*files.printers(), printer]).show(gate_shown(result, shlex.join(options.command)))
    if not result.passed and result.judged is not None:
        raise typer.Exit(result.judged.verdict.answer.exit_code)
