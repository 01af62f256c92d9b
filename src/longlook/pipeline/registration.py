"""Hypotheses are registered before the first trial: a file that says them, and its digest with a date.

The file has all that decides how a hypothesis is judged: the hypotheses, the plan's hash, and the method. Whoever
wants to prove the date to others publishes the digest, since nobody else can know when a file was written.
"""

import hashlib
import json
import time
from typing import Any

from longlook.core import InputError, Plan, RunFolder, Study, codec, files, write_json
from longlook.pipeline.options import Observer

REGISTRATION = "registration.json"
REGISTERED = "registered"
"""The key of the manifest: the SHA-256 of the file, and when it was written."""


def register(study: Study, plan: Plan, folder: RunFolder, observer: Observer) -> None:
    """Write the hypotheses of a study into its run folder, if it has any and no trial has run.

    A run that is continued must have the registered ones, else InputError.
    """
    if REGISTERED in folder.manifest:
        _refuse_others(study, folder)
        return
    if not study.hypotheses:
        return
    path = folder.path / REGISTRATION
    if any(folder.result(trial.id) is not None for trial in plan.trials):
        raise InputError(
            f"{folder.path} has trials already, so hypotheses cannot be registered before the first one",
            "run the study with its hypotheses in another folder: --out",
        )
    write_json(path, _registration(study, plan))
    folder.seal([REGISTRATION])
    sha256 = hashlib.sha256(files.read_bytes(path)).hexdigest()
    folder.note(**{REGISTERED: {"sha256": sha256, "unix_s": int(time.time())}})
    observer.say(f"{len(study.hypotheses)} hypotheses registered before the first trial: SHA-256 {sha256}")


def _registration(study: Study, plan: Plan) -> dict[str, Any]:
    return {
        "study": study.id,
        "question": study.question,
        "plan_hash": plan.hash,
        "metrics": list(study.metrics),
        "contrasts": codec.encode(study.contrasts),
        "analysis": codec.encode(study.analysis),
        "hypotheses": codec.encode(study.hypotheses),
    }


def _refuse_others(study: Study, folder: RunFolder) -> None:
    if study.hypotheses != folder.study.hypotheses:
        raise InputError(
            f"the hypotheses of {study.id} are not those that {folder.path} registered before its first trial",
            "run the study with these in another folder: --out",
        )


def why_unregistered(folder: RunFolder) -> str:
    """Return why a run's hypotheses do not count as registered, in a clause; empty if they do."""
    noted = folder.manifest.get(REGISTERED)
    if noted is None:
        return "this run was joined from others, or its trials were there before its hypotheses"
    if (broken := folder.broken(REGISTRATION)) is not None:
        return broken
    data = files.read_bytes(folder.path / REGISTRATION)
    if hashlib.sha256(data).hexdigest() != noted["sha256"]:
        return f"{REGISTRATION} has another digest than the manifest"
    if json.loads(data).get("hypotheses") != codec.encode(folder.study.hypotheses):
        return f"{REGISTRATION} has other hypotheses than the study"
    if noted["unix_s"] < int(folder.manifest.get("started_unix_s", 0)):
        return "the manifest has a date before the run was begun"
    return ""
