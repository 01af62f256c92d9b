"""A trial's folder, for exports: what was run, what came of it, and its timeline."""

from pathlib import Path

from longlook.core import TIMELINE, InputError, Run, Trial, codec, files
from longlook.timeline.normalise import normalise_trial
from longlook.timeline.timeline import Timeline


def trial_of(folder: Path) -> tuple[Trial, Run, Timeline]:
    """Return a finished trial with its timeline. Raise InputError if the folder holds none."""
    try:
        trial = codec.decode(Trial, files.read_json(folder / "trial.json"))
        run = codec.decode(Run, files.read_json(folder / "run.json"))
    except FileNotFoundError as error:
        raise InputError(f"{folder}: is no trial: it has no {Path(error.filename).name}", "name RUN/trials/ID") from (
            error
        )
    except (ValueError, OSError) as error:
        raise InputError(f"{folder}: its trial.json or run.json is damaged: {error}", "name another trial") from error
    saved = folder / TIMELINE
    return trial, run, Timeline.read(saved) if saved.exists() else normalise_trial(folder, trial, run)


def timeline_of(folder: Path) -> Timeline:
    """Return the timeline of a finished trial. Raise InputError if the folder holds none."""
    return trial_of(folder)[2]
