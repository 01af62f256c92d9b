"""`make torture`: experiments in turn until the time is over, each noted, and a table of what was survived.

The same --out goes on where it ended; what broke is kept in `broken/NUMBER` there, with all its files. --record adds
the counts to a file that outlives the folder: `make torture` takes docs/data/torture.json.
"""

import argparse
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from rich.console import Console
from rich.table import Table

from longlook import __version__
from longlook.run.host_facts import facts_of_host
from tests.torture import tally
from tests.torture.damage import damaged_file
from tests.torture.disks import full_disk
from tests.torture.fuzzers import fuzzer
from tests.torture.hostile import hostile_program
from tests.torture.kills import kill_live, kill_one_process, kill_virtual
from tests.torture.place import Place
from tests.torture.records import Record, append, load

ROOT = Path(__file__).parents[2]
EXPERIMENTS: Mapping[str, Callable[[Place, random.Random], None]] = {
    "kill, virtual": kill_virtual,
    "kill, live": kill_live,
    "kill one process": kill_one_process,
    "hostile program": hostile_program,
    "full disk": full_disk,
    "damaged file": damaged_file,
    "fuzzer": fuzzer,
}


def perform(name: str, number: int, seed: int, out: Path) -> Record:
    """Make one experiment and return its record; the place of one that broke stays in `broken/NUMBER`."""
    began = time.monotonic()
    path = out / "places" / str(number)
    place = Place.made(path)
    draw = random.Random(f"{seed} {number}")
    broken = None
    try:
        EXPERIMENTS[name](place, draw)
    except Exception as error:
        broken = f"{type(error).__name__}: {error}"
    finally:
        place.end_runs()
    if broken is None:
        shutil.rmtree(path)
    else:
        (out / "broken").mkdir(exist_ok=True)
        path.rename(out / "broken" / str(number))
    seconds = round(time.monotonic() - began, 1)
    day = time.strftime("%Y-%m-%d", time.gmtime())
    return Record(number, name, ", ".join(place.drawn), broken, seconds, day, _longlook(), _machine())


@cache
def _longlook() -> str:
    """Return version and commit, and whether the checkout differs from it; documents do not count."""
    commit, changes = _git("rev-parse", "--short=10", "HEAD"), _git("status", "--porcelain", "--", ".", ":!docs")
    return " ".join([__version__, *([commit] if commit else []), *(["(changed)"] if changes else [])])


def _git(*arguments: str) -> str:
    """Return what git says of this checkout, nothing where it is none."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


@cache
def _machine() -> str:
    facts = facts_of_host()
    return f"{facts['cpus']} CPUs, {facts['cpu']}, {facts['memory_kib'] / 2**20:.0f} GiB, {facts['kernel']}"


def _record(file: Path | None, out: Path) -> None:
    """Record before the first experiment too: a file that cannot be read, or written, is not found hours later."""
    try:
        if file:
            tally.record(file, out)
    except (tally.TallyError, OSError) as error:
        sys.exit(str(error))


def main(arguments: Sequence[str] | None = None) -> int:
    """Go on for the minutes asked for; return 1 where anything broke, else 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=120, help="how long (120)")
    parser.add_argument("--out", type=Path, default=Path("runs/torture"), help="where the records are (runs/torture)")
    parser.add_argument("--seed", type=int, default=1, help="of all that is drawn (1)")
    parser.add_argument("--only", nargs="+", choices=list(EXPERIMENTS), default=list(EXPERIMENTS), help="experiments")
    parser.add_argument("--record", type=Path, help="file to which the counts of this folder are added")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(given.out / "places", ignore_errors=True)
    records = load(given.out)
    _record(given.record, given.out)
    deadline = time.monotonic() + given.minutes * 60
    while time.monotonic() < deadline:
        number = len(records) + 1
        name = given.only[number % len(given.only)]
        records.append(perform(name, number, given.seed, given.out))
        append(given.out, records[-1])
        _record(given.record, given.out)
        last = records[-1]
        print(f"{number}  {name}: {last.variant}  {last.broken or 'survived'}  {last.seconds} s", flush=True)
    table = Table("experiment", "deed", "made", "survived", "minutes", box=None)
    for row in tally.counted(records):
        table.add_row(row.experiment, row.deed, str(row.made), str(row.survived), f"{row.seconds / 60:.1f}")
    Console().print(table)
    if given.record:
        print(f"counted in {given.record}; `make generate` puts it into docs/reference/run-folders.md")
    return 0 if all(record.broken is None for record in records) else 1


if __name__ == "__main__":
    sys.exit(main())
