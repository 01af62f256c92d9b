"""The order of the stages: the one place that knows which stage follows which.

A study goes in, and a run folder with its report comes out; a finished run folder goes in, and its analysis or another
page comes out. `run_study` runs a study from its plan to its report, by `RunOptions`; an `Observer` is called with what
happens. `preview_study` returns what it would do, and does none of it. `analyse_run` repeats every stage after the
engine, from files alone. `explain_run` says of a run folder why arms lost, by trials of its own. `sample_study` runs a
study and returns its samples, without a report.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.pipeline.analyse import PUBLISH as PUBLISH
    from longlook.pipeline.analyse import Result as Result
    from longlook.pipeline.analyse import analyse_run as analyse_run
    from longlook.pipeline.answers import ANSWERS as ANSWERS
    from longlook.pipeline.answers import FOLDER as FOLDER
    from longlook.pipeline.answers import findings_table as findings_table
    from longlook.pipeline.answers import read_answers as read_answers
    from longlook.pipeline.evidence import ALTERED as ALTERED
    from longlook.pipeline.evidence import check_analysed as check_analysed
    from longlook.pipeline.evidence import check_tables as check_tables
    from longlook.pipeline.evidence import described as described
    from longlook.pipeline.exchange import Exchanged as Exchanged
    from longlook.pipeline.exchange import pull_all as pull_all
    from longlook.pipeline.exchange import pull_plan as pull_plan
    from longlook.pipeline.exchange import push_all as push_all
    from longlook.pipeline.exchange import push_plan as push_plan
    from longlook.pipeline.explain.run import ExplainRequest as ExplainRequest
    from longlook.pipeline.explain.run import explain_run as explain_run
    from longlook.pipeline.hars import Exported as Exported
    from longlook.pipeline.hars import export_hars as export_hars
    from longlook.pipeline.merge import merge_runs as merge_runs
    from longlook.pipeline.open_run import cells_of_run as cells_of_run
    from longlook.pipeline.open_run import open_adopted as open_adopted
    from longlook.pipeline.open_run import run_named as run_named
    from longlook.pipeline.options import Observer as Observer
    from longlook.pipeline.options import RunOptions as RunOptions
    from longlook.pipeline.partial import PartialRun as PartialRun
    from longlook.pipeline.partial import SoFar as SoFar
    from longlook.pipeline.populations import UsersAnswered as UsersAnswered
    from longlook.pipeline.populations import answer_users as answer_users
    from longlook.pipeline.populations import users_of as users_of
    from longlook.pipeline.preview import LIVE as LIVE
    from longlook.pipeline.preview import Preview as Preview
    from longlook.pipeline.preview import preview_study as preview_study
    from longlook.pipeline.provide import provide_for as provide_for
    from longlook.pipeline.result_files import CLAIMS as CLAIMS
    from longlook.pipeline.result_files import ESTIMATES as ESTIMATES
    from longlook.pipeline.result_files import RESULTS as RESULTS
    from longlook.pipeline.run import run_study as run_study
    from longlook.pipeline.sample import sample_study as sample_study
    from longlook.pipeline.sbom import bill_of_materials as bill_of_materials
    from longlook.pipeline.shards import MERGED as MERGED
    from longlook.pipeline.shards import WHOLE_PLAN as WHOLE_PLAN
    from longlook.pipeline.shards import read_note as read_note
    from longlook.pipeline.strata import read_strata as read_strata
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "analyse": "PUBLISH Result analyse_run",
            "answers": "ANSWERS FOLDER findings_table read_answers",
            "evidence": "ALTERED check_analysed check_tables described",
            "exchange": "Exchanged pull_all pull_plan push_all push_plan",
            "explain.run": "ExplainRequest explain_run",
            "hars": "Exported export_hars",
            "merge": "merge_runs",
            "open_run": "cells_of_run open_adopted run_named",
            "options": "Observer RunOptions",
            "partial": "PartialRun SoFar",
            "populations": "UsersAnswered answer_users users_of",
            "preview": "LIVE Preview preview_study",
            "provide": "provide_for",
            "result_files": "CLAIMS ESTIMATES RESULTS",
            "run": "run_study",
            "sample": "sample_study",
            "sbom": "bill_of_materials",
            "shards": "MERGED WHOLE_PLAN read_note",
            "strata": "read_strata",
        },
    )
