"""Writes every file that is made from the code: `make generate`.

--check writes nothing and fails if one of the quick ones would change; `make lint` does that. An entry of DOCUMENTS
names a document with tables that are made from the code, and the function that puts them in. `scripts.reference` has
the pages that are made as a whole.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scripts import reference

ROOT = Path(__file__).parents[1]
ARCHITECTURE = Path("scripts/architecture.py")


@dataclass(frozen=True)
class GeneratedFile:
    """A file below the checkout, and how its text is made from the text that it has now."""

    path: str
    make: Callable[[str], str]


def classes_of_time(current: str) -> str:
    """Return docs/reference/ledger.md with the classes that a ledger has."""
    from longlook.explain import CLASSES

    return with_table(
        current, "| class | it holds while", [f"| `{name}` | {sentence} |" for name, sentence in CLASSES.items()]
    )


def tables_of_trials(current: str) -> str:
    """Return docs/reference/run-folders.md with the tables that an analysis makes of all trials."""
    from longlook.analysis import TABLES

    rows = []
    for each in TABLES:
        file = f"`{each.file}`" if each.file else "drawn, not written"
        rows.append(f"| {file} | {each.summary} | `{'`, `'.join(each.columns)}` |")
    return with_table(current, "| table | a row |", rows)


def settings_of_tcp(current: str) -> str:
    """Return docs/reference/studies.md with what a trial measures of each setting of the kernel's TCP."""
    from longlook.analysis.effects import tcp_rows

    return with_table(current, "| setting of TCP |", tcp_rows())


def knobs(current: str) -> str:
    """Return docs/reference/stacks.md with what a trial measures of each knob."""
    from longlook.analysis.effects import knob_rows

    return with_table(current, "| knob | shown in each trial by |", knob_rows())


def with_table(text: str, header: str, rows: Iterable[str]) -> str:
    """Return a document with other rows in the table whose first line begins with `header`."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith(header)]
    if len(starts) != 1:
        raise SystemExit(f"{len(starts)} tables begin with {header!r}: there should be one")
    begin = starts[0] + 2  # behind the header and its rule
    end = next((number for number in range(begin, len(lines)) if not lines[number].startswith("|")), len(lines))
    return "\n".join([*lines[:begin], *rows, *lines[end:]]) + "\n"


def trust(current: str) -> str:
    """Return docs/explanation/trust.md with the tables of the certificate."""
    from longlook.instruments.certify.certificate import load
    from longlook.instruments.certify.document import TABLES

    certificate = load(ROOT / "docs" / "data" / "certificate.json")
    for header, rows in TABLES.items():
        current = with_table(current, header, rows(certificate))
    return current


def torture(current: str) -> str:
    """Return docs/reference/torture.md with the tables of the counts."""
    from tests.torture.tally import TABLES, read

    counts = read(ROOT / "docs" / "data" / "torture.json")
    for header, rows in TABLES.items():
        current = with_table(current, header, rows(counts))
    return current


def _without_current(make: Callable[[], str], _current: str) -> str:
    return make()


DOCUMENTS: Mapping[str, Callable[[str], str]] = {
    "docs/reference/studies.md": settings_of_tcp,
    "docs/reference/stacks.md": knobs,
    "docs/reference/ledger.md": classes_of_time,
    "docs/reference/run-folders.md": tables_of_trials,
    "docs/explanation/trust.md": trust,
    "docs/reference/torture.md": torture,
}
PAGES: Mapping[str, Callable[[str], str]] = {
    path: partial(_without_current, make) for path, make in reference.PAGES.items()
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Write or check; raise SystemExit with the paths that are out of date and the command that renews them."""
    parser = argparse.ArgumentParser(description="Write every file that is made from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a quick one is out of date")
    check = parser.parse_args(arguments).check
    changed = out_of_date(QUICK, write=not check)
    if check:
        if changed:
            sys.exit(f"{', '.join(changed)}: not what the code gives now: run `make generate`")
        return
    if (ROOT / ARCHITECTURE).exists():
        subprocess.run([sys.executable, str(ARCHITECTURE)], cwd=ROOT, check=True)
    for snapshot in ("tests.golden.plans", "tests.golden.snapshot", "tests.golden.ledgers"):
        subprocess.run([sys.executable, "-m", snapshot], cwd=ROOT, check=True)
    sys.stdout.write("".join(f"{path} is written\n" for path in changed))


if __name__ == "__main__":
    main()
