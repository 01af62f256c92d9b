"""The run folder of a plan: made anew with its manifest, or opened again."""

import shlex
import time
from pathlib import Path
from typing import Any

from longlook.core import InputError, Plan, RunFolder, Study, codec, files, find_tree
from longlook.network import trace_store
from longlook.pipeline.check import reopen
from longlook.pipeline.options import RunOptions
from longlook.pipeline.provide import deviations
from longlook.pipeline.sbom import keep_components
from longlook.pipeline.shards import read_note, read_whole
from longlook.provision import server_configs
from longlook.provision import store as recorded
from longlook.run import Provisions, facts_of_host
from longlook.study import cell_id, cells_of, installed, labels_of, releases_of

STUDY_FILE = "study.json"


def open_run(study: Study, plan: Plan, out: Path, provisions: Provisions, options: RunOptions) -> RunFolder:
    """Return the run folder `out`, not locked yet, with all files that the plan's trials name."""
    if options.resume:
        folder = reopen(out, plan)
    else:
        folder = RunFolder.create(out, study, plan, _manifest(study, plan, provisions, options))
    lay_files(plan, folder)
    keep_components(folder, provisions.made)
    if others := deviations(provisions.made):
        folder.note(not_as_pinned=sorted({*folder.manifest.get("not_as_pinned", ()), *others}))
    return folder


def lay_files(plan: Plan, folder: RunFolder) -> None:
    """Copy the traces, recorded pages and server configurations that a plan's trials name from the cache."""
    trace_store.lay((digest for trial in plan.trials for digest in trial.traces()), folder.traces)
    recorded.lay(plan, folder.path)
    server_configs.lay(plan, folder.path)


def open_adopted(run: Path) -> RunFolder:
    """Open a run folder that a command goes on with, and put the files that its trials name into the cache."""
    folder = RunFolder.open(run)
    trace_store.adopt(folder.traces)
    recorded.adopt(folder.path)
    server_configs.adopt(folder.path)
    return folder


def run_named(study: str) -> RunFolder | None:
    """Return the run folder that stands in the place of a study: it, or its `study.json`; None for anything else.

    Its files are in the cache afterwards, as by `open_adopted`. InputError for a JSON file that is in no run folder.
    """
    path = Path(study)
    if path.suffix == ".json" and files.is_regular(path):
        if path.name != STUDY_FILE or not files.is_regular(path.parent / "manifest.json"):
            hint = (
                f"a run's {STUDY_FILE} runs from its run folder, with the files that it names; a study is a TOML file"
            )
            raise InputError(f"{study} is not the {STUDY_FILE} of a run folder", hint)
        return open_adopted(path.parent)
    return open_adopted(path) if all(files.is_regular(path / name) for name in ("manifest.json", STUDY_FILE)) else None


def cells_of_run(folder: RunFolder, *, of_all_shards: bool) -> tuple[str, ...]:
    """Return the filters that choose the cells of a run; none if it has all of its study.

    With `of_all_shards` these are the cells of the whole plan that a shard is a part of.
    """
    all_cells = {cell_id(labels_of(cell)) for cell in cells_of(folder.study)}
    is_part = read_note(folder.manifest) is not None
    plan = read_whole(folder) if of_all_shards and is_part else folder.plan
    own = dict.fromkeys(trial.cell_id for trial in plan.trials)
    return () if own.keys() == all_cells else tuple(own)


def _manifest(study: Study, plan: Plan, provisions: Provisions, options: RunOptions) -> dict[str, Any]:
    return {
        "study": study.id,
        "plan_hash": plan.hash,
        "trials": len(plan.trials),
        "engine": options.engine.name,
        "settings": {},
        "command": shlex.join(options.command),
        "programs": {
            **{f"{name}@{version}": program.digest for (name, version), program in provisions.programs.items()},
            "link": provisions.link.digest,
            **({"trace": provisions.trace.digest} if provisions.trace else {}),
            **provisions.tools,
        },
        **_sources(provisions),
        "releases": codec.encode(releases_of(study, installed())),
        "host": facts_of_host(),
        "started_unix_s": int(time.time()),
    }


def _sources(provisions: Provisions) -> dict[str, Any]:
    """Return the records of programs that were built from sources; nothing if all are releases."""
    found = (find_tree(name, version) for name, version in provisions.programs)
    records = [codec.encode(tree) for tree in found if tree is not None]
    return {"sources": records} if records else {}
