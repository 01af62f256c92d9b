"""The run folder of a plan: made anew with its manifest, or opened again."""

import shlex
import time
from pathlib import Path
from typing import Any

from longlook.core import Plan, RunFolder, Study, codec, find_tree
from longlook.network import trace_store
from longlook.pipeline.check import reopen
from longlook.pipeline.options import RunOptions
from longlook.pipeline.provide import deviations
from longlook.pipeline.sbom import keep_components
from longlook.provision import server_configs
from longlook.provision import store as recorded
from longlook.run import Provisions, facts_of_host
from longlook.study import installed, releases_of


def open_run(study: Study, plan: Plan, out: Path, provisions: Provisions, options: RunOptions) -> RunFolder:
    """Return the run folder `out`, not locked yet, with all files that the plan's trials name."""
    if options.resume:
        folder = reopen(out, plan)
    else:
        folder = RunFolder.create(out, study, plan, _manifest(study, plan, provisions, options))
    trace_store.lay((digest for trial in plan.trials for digest in trial.traces()), folder.traces)
    recorded.lay(plan, folder.path)
    server_configs.lay(plan, folder.path)
    keep_components(folder, provisions.made)
    if others := deviations(provisions.made):
        folder.note(not_as_pinned=sorted({*folder.manifest.get("not_as_pinned", ()), *others}))
    return folder


def open_adopted(run: Path) -> RunFolder:
    """Open a run folder that a command goes on with, and put the files that its trials name into the cache."""
    folder = RunFolder.open(run)
    trace_store.adopt(folder.traces)
    recorded.adopt(folder.path)
    server_configs.adopt(folder.path)
    return folder


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
