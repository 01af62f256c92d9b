"""The commands of `longlook` put together, and what happens around each of them."""

import errno
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from longlook import __version__
from longlook.cli import cache, catalogue, checks, demo, explain, merge, run, stacks, study, trace
from longlook.core import InterruptedByUserError, LonglookError, MachineError
from longlook.instruments.atlas import command as atlas
from longlook.instruments.bundle import command as bundle
from longlook.instruments.calibrate import command as calibrate
from longlook.instruments.certify import command as certify
from longlook.instruments.compare import command as compare
from longlook.instruments.compare import exits
from longlook.instruments.compare import gate_command as gate
from longlook.instruments.conformance import command as conformance
from longlook.instruments.decide import command as decide
from longlook.instruments.infer import command as infer
from longlook.instruments.link import command as link
from longlook.instruments.measure import command as measure
from longlook.instruments.runs import command as runs
from longlook.instruments.transfer import command as transfer
from longlook.terminal import error_console

_DIGITS = 16

_PANELS: Mapping[str, Mapping[str, "Callable[..., None] | typer.Typer"]] = {
    "Run a study": {
        "run": run.run,
        "watch": runs.watch,
        "stop": runs.stop,
        "runs": runs.runs_app,
        "report": run.report,
        "explain": explain.explain,
        "demo": demo.demo,
        "merge": merge.merge,
    },
    "Compare versions": {"compare": compare.compare, "gate": gate.gate, "bisect": compare.bisect},
    "Measure a site": {"measure": measure.measure},
    "Decide": {"decide": decide.decide, "population": decide.population},
    "Write a study": {
        "study": study.study_app,
        "stacks": stacks.stacks_app,
        "setup": stacks.setup,
        "metrics": catalogue.metrics_app,
        "causes": catalogue.causes_app,
        "new": stacks.new_app,
    },
    "Programs and traces of your own": {
        "link": link.link_app,
        "trace": trace.trace_app,
        "reproduce": transfer.reproduce,
        "infer": infer.infer,
        "phone": checks.phone,
    },
    "Publish and check": {
        "bundle": bundle.bundle,
        "verify": bundle.verify,
        "claims": atlas.claims,
        "atlas": atlas.atlas,
        "diff-runs": checks.diff_runs,
        "sbom": checks.sbom,
    },
    "This machine": {
        "doctor": checks.doctor,
        "cache": cache.cache_app,
        "calibrate": calibrate.calibrate,
        "certify": certify.certify,
    },
}
"""The commands as `longlook --help` has them: by panel, the most used first."""


class _InOrder(TyperGroup):
    """The commands in the order of `_PANELS`; typer by itself lists groups of commands after all others."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names."""
        return [name for panel in _PANELS.values() for name in panel]


app = typer.Typer(
    cls=_InOrder,
    help="Is A faster, fairer or cheaper than B, where, and why?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
stacks.stacks_app.command("check")(conformance.stacks_check)
stacks.stacks_app.command("matrix")(conformance.stacks_matrix)
stacks.stacks_app.command("docs")(conformance.stacks_docs)
stacks.stacks_app.command("install")(stacks.setup)
for _panel, _commands in _PANELS.items():
    for _name, _command in _commands.items():
        if isinstance(_command, typer.Typer):
            app.add_typer(_command, name=_name, rich_help_panel=_panel)
        else:
            app.command(_name, rich_help_panel=_panel)(_command)


def _print_version(asked: bool) -> None:
    """Print the version, the method that makes verdicts and the guest kernel: together they say what results are."""
    if not asked:
        return
    from longlook.core import folder_digest
    from longlook.provision import guest_kernel

    typer.echo(f"longlook {__version__}")
    typer.echo(f"method {folder_digest('longlook.analysis.stats')[:_DIGITS]}")
    typer.echo(f"kernel {guest_kernel.readiness().detail}")
    raise typer.Exit


_Version = Annotated[
    bool,
    typer.Option(
        "--version", help="Print version, method and guest kernel, and exit.", is_eager=True, callback=_print_version
    ),
]


@app.callback()
def _options(version: _Version = False) -> None:
    """Hold the options that come before a command."""


_CHOOSE = "choose another place: --out for results, LONGLOOK_CACHE for the cache"
_OF_THE_MACHINE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), f"free some space, or {_CHOOSE}"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), f"make it writable, or {_CHOOSE}"),
    **dict.fromkeys((errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP), _CHOOSE),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "raise the limit of open files: ulimit -n"),
    errno.ENOMEM: "free some memory, or run fewer trials at once: --jobs 1",
    errno.EIO: "the disk fails: see dmesg",
}
"""A refusal of the file system or the machine, wherever it shows → the next step for the user."""


def main() -> None:
    """Run the `longlook` command; an expected failure exits with its own code."""
    with exits.for_git_bisect():
        _run()


def _run() -> None:
    # SIGTERM ends the program as Ctrl-C does, so that every `with` on the way cleans up.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # nothing more is loaded that it would cut short
        app()
    except KeyboardInterrupt:  # outside of a command
        sys.exit(InterruptedByUserError.exit_code)
    except LonglookError as error:
        _fail(error.message, error.hint, error.exit_code)
    except OSError as error:
        if error.errno not in _OF_THE_MACHINE:
            raise
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror}", _OF_THE_MACHINE[error.errno], MachineError.exit_code)


def _fail(message: str, hint: str | None, code: int) -> NoReturn:
    errors = error_console()
    errors.print(f"longlook: {message}", style="red")
    if hint:
        errors.print(f"  → {hint}")
    sys.exit(code)


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt
