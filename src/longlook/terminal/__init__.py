"""Shared by commands: their options, the console, printers, and how a run, its verdicts and explanations are shown.

`cli` and the instruments, which bring commands of their own, import this package. It computes nothing.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.terminal import completion as completion
    from longlook.terminal import run_display as run_display
    from longlook.terminal.answers import answers_shown as answers_shown
    from longlook.terminal.console import duration as duration
    from longlook.terminal.console import error_console as error_console
    from longlook.terminal.console import output_console as output_console
    from longlook.terminal.console import print_json as print_json
    from longlook.terminal.console import quoted as quoted
    from longlook.terminal.options import CHECKED as CHECKED
    from longlook.terminal.options import LOCAL as LOCAL
    from longlook.terminal.options import Around as Around
    from longlook.terminal.options import AsJson as AsJson
    from longlook.terminal.options import AsJsonLines as AsJsonLines
    from longlook.terminal.options import CheckWorkers as CheckWorkers
    from longlook.terminal.options import EngineOptions as EngineOptions
    from longlook.terminal.options import Executor as Executor
    from longlook.terminal.options import Losses as Losses
    from longlook.terminal.options import StudyChanges as StudyChanges
    from longlook.terminal.options import TrustPrograms as TrustPrograms
    from longlook.terminal.options import at_once as at_once
    from longlook.terminal.options import check_file as check_file
    from longlook.terminal.options import expand_options as expand_options
    from longlook.terminal.options import name_store as name_store
    from longlook.terminal.options import new_folder as new_folder
    from longlook.terminal.options import parse_changes as parse_changes
    from longlook.terminal.patience import at_work as at_work
    from longlook.terminal.printer import FileForm as FileForm
    from longlook.terminal.printer import FilePrinter as FilePrinter
    from longlook.terminal.printer import Printer as Printer
    from longlook.terminal.printer import Printers as Printers
    from longlook.terminal.printer import Prose as Prose
    from longlook.terminal.printer import Renderings as Renderings
    from longlook.terminal.printer import Unwrapped as Unwrapped
    from longlook.terminal.printer import document_printer as document_printer
    from longlook.terminal.printer import lines_printer as lines_printer
    from longlook.terminal.run_display import RunDisplay as RunDisplay
    from longlook.terminal.run_display import fail_where_altered as fail_where_altered
    from longlook.terminal.run_display import fail_where_unexpected as fail_where_unexpected
    from longlook.terminal.run_display import fail_without_trials as fail_without_trials
    from longlook.terminal.run_display import going_on as going_on
    from longlook.terminal.time_left import TimeLeft as TimeLeft
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "answers": "answers_shown",
            "console": "duration error_console output_console print_json quoted",
            "options": (
                "Around AsJson AsJsonLines CHECKED CheckWorkers EngineOptions Executor LOCAL Losses StudyChanges "
                "TrustPrograms at_once check_file expand_options name_store new_folder parse_changes"
            ),
            "patience": "at_work",
            "printer": (
                "FileForm FilePrinter Printer Printers Prose Renderings Unwrapped document_printer lines_printer"
            ),
            "run_display": "RunDisplay fail_where_altered fail_where_unexpected fail_without_trials going_on",
            "time_left": "TimeLeft",
        },
        "completion run_display",
    )
