"""Writes every file that is made from the code: `make generate`.

--check writes nothing and fails if one of the quick ones would change; `make lint` does that. An entry of DOCUMENTS
names a document with tables or counts that are made from the code, and the function that puts them in.
`scripts.reference` has the pages that are made as a whole, `scripts.bound_numbers` the numbers in other pages that are
bound to entries. The record of public names is compared, and written by `scripts.public_api` alone: a change of them is
made on purpose.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scripts import bound_numbers, claim_counts, public_api, python_page, reference

ROOT = Path(__file__).parents[1]
ARCHITECTURE = Path("scripts/architecture.py")


@dataclass(frozen=True)
class GeneratedFile:
    """A file below the checkout, and how its text is made from the text that it has now."""

    path: str
    make: Callable[[str], str]


def with_table(text: str, header: str, rows: Iterable[str]) -> str:
    """Return a document with other rows in the table whose first line begins with `header`."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith(header)]
    if len(starts) != 1:
        raise SystemExit(f"{len(starts)} tables begin with {header!r}: there should be one")
    begin = starts[0] + 2  # behind the header and its rule
    end = next((number for number in range(begin, len(lines)) if not lines[number].startswith("|")), len(lines))
    return "\n".join([*lines[:begin], *rows, *lines[end:]]) + "\n"


def torture(current: str) -> str:
    """Return docs/reference/run-folders.md with the tables of the counts beside it."""
    from tests.torture.tally import TABLES, read

    counts = read(ROOT / "docs" / "data" / "torture.json")
    for header, rows in TABLES.items():
        current = with_table(current, header, rows(counts))
    return current


def _without_current(make: Callable[[], str], _current: str) -> str:
    return make()


DOCUMENTS: Mapping[str, Callable[[str], str]] = {
    "docs/reference/run-folders.md": torture,
    **{str(page.relative_to(ROOT)): claim_counts.with_counts for page in claim_counts.pages()},
}
PAGES: Mapping[str, Callable[[str], str]] = {
    path: partial(_without_current, make) for path, make in {**reference.PAGES, **python_page.PAGES}.items()
}
QUICK = tuple(GeneratedFile(path, make) for path, make in {**DOCUMENTS, **PAGES}.items())


def out_of_date(files: Sequence[GeneratedFile], root: Path = ROOT, *, write: bool = False) -> list[str]:
    """Return the paths of files whose text is not what the code gives; with `write`, they have it afterwards."""
    found = []
    for file in files:
        path = root / file.path
        current = path.read_text(encoding="utf-8") if path.exists() else ""
        made = file.make(current)
        if made != current:
            found.append(file.path)
            if write:
                path.write_text(made, encoding="utf-8")
    return found


def wrong_numbers(root: Path = ROOT, *, write: bool = False) -> list[str]:
    """Return a line for each number of a page that is not what its entry gives; with `write`, pages have the right one.

    Lines about a number that cannot be corrected stay in the list after it was written.
    """
    found = []
    for path in bound_numbers.pages(root):
        page = bound_numbers.read(path, root)
        if write and page.faults:
            path.write_text(page.corrected, encoding="utf-8")
        found += [str(fault) for fault in page.faults if fault.right is None or not write]
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Write or check; raise SystemExit with the paths that are out of date and the command that renews them."""
    parser = argparse.ArgumentParser(description="Write every file that is made from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a quick one is out of date")
    check = parser.parse_args(arguments).check
    if check:
        if changed := out_of_date(QUICK):
            sys.exit(f"{', '.join(changed)}: not what the code gives now: run `make generate`")
        if wrong := wrong_numbers():
            sys.exit("\n".join([*wrong, "numbers of pages come from docs/data/entries: run `make generate`"]))
        if api := public_api.changes():
            sys.exit("\n".join(api))
        return
    if (ROOT / ARCHITECTURE).exists():
        subprocess.run([sys.executable, str(ARCHITECTURE)], cwd=ROOT, check=True)
    _take("tests.golden.plans")  # first: pages take these for what the code plans
    changed = out_of_date(QUICK, write=True)
    _take("tests.golden.snapshot")
    _take("tests.golden.ledgers")
    if wrong := wrong_numbers(write=True):
        sys.exit("\n".join(wrong))
    sys.stdout.write("".join(f"{path} is written\n" for path in changed))


def _take(snapshot: str) -> None:
    subprocess.run([sys.executable, "-m", snapshot], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
