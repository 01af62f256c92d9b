"""The events of a trial beside its timeline, for those that measure it."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from longlook.core import registry
from longlook.core.model import Run, Trial
from longlook.timeline.decode import decode_to
from longlook.timeline.events import EventKind, Events
from longlook.timeline.normalise import normalise_trial
from longlook.timeline.normalise.traces import normalise_traces
from longlook.timeline.timeline import Timeline


def write_events(folder: Path, trial: Trial, run: Run, timeline: Timeline, out: Path) -> bool:
    """Write the events of the traces in a trial's folder to `out`; return False if it holds no trace."""
    out.unlink(missing_ok=True)  # of an earlier Longlook it may be a cache's too
    return normalise_traces(folder, trial, run, timeline, decode_to, out) is not None


def needs_events(metrics: Iterable[str]) -> bool:
    """Return whether one of some metrics reads events of traces."""
    return any(kind in set(EventKind) for name in metrics for kind in registry.get("metrics", name).needs)


def full_timeline(folder: Path, trial: Trial, run: Run, metrics: Iterable[str]) -> Timeline:
    """Return a trial's timeline, with its events if a metric needs them. Write nothing into the folder."""
    timeline = normalise_trial(folder, trial, run)
    if not needs_events(metrics):
        return timeline
    with tempfile.TemporaryDirectory(prefix="longlook-events-") as scratch:
        out = Path(scratch) / "events.parquet"
        return timeline.with_events(Events.read(out)) if write_events(folder, trial, run, timeline, out) else timeline
