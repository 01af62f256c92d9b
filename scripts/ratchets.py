"""Numbers of the checkout that may only fall: `make architecture` prints them and lowers their record.

scripts/ratchets.json is the record: for each count of scripts/counts.py that is held, its lowest value so far. A count
may not be higher than that, unless it is no higher than its target.
    python -m scripts.ratchets           print the table; lower the record to what is counted now
    python -m scripts.ratchets --check   change nothing; fail if a number has risen (`make lint`)
    python -m scripts.ratchets --renew   record what is counted now, higher or lower: for a merge, or for a rise that
                                         has a reason
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from scripts.counts import COUNTS, Checkout

ROOT = Path(__file__).parents[1]
RECORD = Path("scripts/ratchets.json")


def counted(root: Path = ROOT) -> dict[str, int]:
    """Return the value of every count of a checkout."""
    checkout = Checkout(root)
    return {count.name: count.measure(checkout) for count in COUNTS}


def recorded(root: Path = ROOT) -> dict[str, int]:
    """Return the record, empty if there is none."""
    file = root / RECORD
    return dict(json.loads(file.read_text())) if file.is_file() else {}


def lowered(record: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    """Return the record of the counts that are held, none higher than in `record`; a new one has today's value."""
    return {name: min(value, record.get(name, value)) for name, value in _held(now).items()}


def _held(now: Mapping[str, int]) -> dict[str, int]:
    return {count.name: now[count.name] for count in COUNTS if count.held}


def risen(record: Mapping[str, int], now: Mapping[str, int]) -> Iterator[str]:
    """Yield a line for each count that is held and higher than its record and its target, or has no record."""
    targets = {count.name: count.target or 0 for count in COUNTS}
    for name, value in _held(now).items():
        if name not in record:
            yield f"{name} has no record; it is {value:,}"
        elif value > max(record[name], targets[name]):
            yield f"{name} has risen from {record[name]:,} to {value:,}"


def fallen(record: Mapping[str, int], now: Mapping[str, int]) -> list[str]:
    """Return the counts that are lower than their record, and records of what is no longer counted."""
    return [name for name, value in record.items() if name not in now or now[name] < value]


def table(record: Mapping[str, int], now: Mapping[str, int]) -> str:
    """Return a line for each count: its value, its record if that differs, its target and its definition."""
    lines = [f"{'count':26}{'now':>9}{'record':>9}{'target':>9}  definition"]
    for count in COUNTS:
        value, most = now[count.name], record.get(count.name)
        shown = "" if most in (None, value) else f"{most:,}"
        target = "–" if count.target is None else f"{count.target:,}"
        lines.append(f"{count.name:26}{value:>9,}{shown:>9}{target:>9}  {count.definition}")
    return "".join(f"{line}\n" for line in lines)


def write(record: Mapping[str, int], root: Path = ROOT) -> None:
    """Write the record, a line for each count, so that two branches rarely change the same line."""
    (root / RECORD).write_text(json.dumps(dict(record), indent=1) + "\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print, check or renew; raise SystemExit with what has risen and what to do about it."""
    parser = argparse.ArgumentParser(description="Numbers of the checkout that may only fall.")
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--check", action="store_true", help="change nothing; fail if a number has risen")
    modes.add_argument("--renew", action="store_true", help="record what is counted now, even if it is higher")
    options = parser.parse_args(arguments)
    record, now = recorded(), counted()
    if not options.check:
        sys.stdout.write(table(record, now))
        write(_held(now) if options.renew else lowered(record, now))
    wrong = [] if options.renew else list(risen(record, now))
    if wrong:
        advice = "make it smaller, or `python -m scripts.ratchets --renew` and say in the commit why it had to rise"
        sys.exit("\n".join([*wrong, advice]))
    if options.check and (names := fallen(record, now)):
        sys.stdout.write(f"{', '.join(names)} can be recorded lower: `make architecture`\n")


if __name__ == "__main__":
    main()
