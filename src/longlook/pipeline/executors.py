"""Trials on other machines: their executor reports to the observer, and the manifest says who ran what."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from longlook.core import Engine, RunFolder, codec
from longlook.pipeline.options import Observer
from longlook.remote import ExecutorReport, Machine, RemoteEngine

EXECUTORS = "executors"
"""The key of the manifest: a report of each executor, with the trials of all sessions."""


@contextmanager
def connected(engine: Engine, folder: RunFolder, observer: Observer) -> Iterator[Engine]:
    """Enter an engine for a run folder. If other machines run its trials, the manifest notes them in the end."""
    with engine as entered:
        if not isinstance(entered, RemoteEngine):
            yield entered
            return
        entered.say = observer.say
        before = entered.report
        try:
            yield entered
        finally:
            _note(folder, before, entered.report)


def _note(folder: RunFolder, before: ExecutorReport, now: ExecutorReport) -> None:
    """Add the work of an engine since `before` to the manifest, which has the work of earlier sessions."""
    noted = {name: codec.decode(ExecutorReport, each) for name, each in folder.manifest.get(EXECUTORS, {}).items()}
    known = noted.get(now.executor, ExecutorReport(now.executor, (), 0))
    counts: Counter[tuple[str, str, str]] = Counter()
    for sign, report in ((1, known), (-1, before), (1, now)):
        for each in report.workers:
            counts[each.host, each.cpu, each.kernel] += sign * each.trials
    workers = tuple(Machine(*facts, count) for facts, count in sorted(counts.items()) if count)
    again = known.run_again_here + now.run_again_here - before.run_again_here
    noted[now.executor] = ExecutorReport(now.executor, workers, again)
    folder.note(**{EXECUTORS: codec.encode(noted)})
