"""The ledgers of some real trials as a file: the time of each in every class, in ns.

python -m tests.golden.ledgers      write tests/golden/ledgers.json anew, for review with the change that moved it
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from longlook.core.run_folder import EVENTS, TIMELINE, RunFolder
from longlook.engines.virtual import VirtualEngine
from longlook.explain.ledger import Ledger, make_ledger
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.study.files import find_study
from longlook.timeline.events import Events
from longlook.timeline.timeline import Timeline

SNAPSHOT = Path(__file__).with_name("ledgers.json")
STUDIES = [Path(__file__).parents[1] / "data" / name for name in ("ledger-download.toml", "ledger-page.toml")]


def ledgers(study: Path, out: Path, *, jobs: int) -> dict[str, tuple[Timeline, Ledger]]:
    """Run a study in virtual time; return each trial's timeline and ledger by arm and cell."""
    run_study(find_study(str(study)), out, RunOptions(VirtualEngine(), jobs=jobs), Observer())
    run = RunFolder.open(out)
    found = {}
    for trial in run.plan.trials:
        folder = run.trials / trial.id
        timeline = Timeline.read(folder / TIMELINE).with_events(Events.read(folder / EVENTS))
        ledger = make_ledger(timeline, trial)
        assert ledger is not None, folder
        found[" ".join((study.stem, trial.arm, *trial.cell.values()))] = (timeline, ledger)
    return found


def totals(of: dict[str, tuple[Timeline, Ledger]]) -> dict[str, dict[str, int]]:
    """Return the snapshot's text of some ledgers."""
    return {
        name: {str(each): time for each, time in sorted(ledger.totals().items())} for name, (_, ledger) in of.items()
    }


def main() -> None:
    """Write the snapshot."""
    found: dict[str, dict[str, int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for study in STUDIES:
            found |= totals(ledgers(study, Path(folder) / study.stem, jobs=os.cpu_count() or 1))
    SNAPSHOT.write_text(json.dumps(found, indent=1) + "\n")
    sys.stdout.write(f"{SNAPSHOT} is written\n")


if __name__ == "__main__":
    main()
