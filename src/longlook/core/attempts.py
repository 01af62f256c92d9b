"""One attempt at a trial, read from its folder and checked against what it was sealed with. Standard library only."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from longlook.core import codec, files
from longlook.core.model import Outcome, Run
from longlook.core.seals import RUN_RECORD, altered_files


def read_attempt(folder: Path, sealed: str | None, derived: Iterable[str], again: str) -> tuple[Run, str]:
    """Return an attempt, and its first difference from its seal: an empty text if there is no difference.

    `sealed` is the digest of its `run.json`, if that is known, and `derived` are names of files that are made from the
    others. An attempt that differs from its seal is invalid for that reason; `again` is the option that runs it again.
    """
    run = _unknown_run(folder.name)
    try:
        data = files.read_bytes(folder / RUN_RECORD)
        if sealed is not None and hashlib.sha256(data).hexdigest() != sealed:
            wrong = f"{RUN_RECORD} was changed"
        else:
            run = codec.decode(Run, json.loads(data))
            wrong = "; ".join(altered_files(folder, run.artefacts, derived))
    except FileNotFoundError:
        wrong = f"{RUN_RECORD} is missing"
    except OSError as error:
        place = Path(error.filename).name if error.filename else RUN_RECORD
        wrong = f"{place} cannot be read ({error.strerror})"
    except (ValueError, RecursionError) as error:
        wrong = f"{RUN_RECORD} is damaged ({error})"
    if not wrong:
        return run, ""
    reason = f"not as it was sealed: {wrong}"
    hint = f"{again} runs the trial again"
    return replace(run, outcome=Outcome.INVALID, reason=reason, hint=hint, exact=False), wrong


def _unknown_run(name: str) -> Run:
    """Return an attempt of which nothing is known but the name of its folder."""
    trial_id, _, attempt = name.partition(".attempt")
    return Run(
        trial_id=trial_id,
        outcome=Outcome.INVALID,
        reason=None,
        hint=None,
        attempt=int(attempt or 1),
        engine="",
        started_unix_ns=0,
        setup_s=0.0,
        measure_s=0.0,
        teardown_s=0.0,
        programs={},
        artefacts={},
        cpu_s={},
        link={},
        guard={},
    )
