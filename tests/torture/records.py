"""What became of every experiment, one line of JSON each: `torture.jsonl` in the folder of a torture."""

import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from longlook.core.run_folder import write_text

RECORDS = "torture.jsonl"
IDENTITY = "identity"


@dataclass(frozen=True)
class Record:
    """One experiment. `variant` says what was drawn; `broken` what did not hold, None where all did."""

    number: int
    experiment: str
    variant: str
    broken: str | None
    seconds: float
    day: str  # ISO date
    longlook: str  # version and commit
    machine: str = "not noted"  # its class: processor, memory, kernel

    @property
    def deed(self) -> str:
        """Return the part of `variant` by which it is counted: what stands before the first comma."""
        return self.variant.partition(",")[0]


def identity(folder: Path) -> str:
    """Return the name under which a folder's records are counted: drawn once, and the same wherever it is moved."""
    path = folder / IDENTITY
    if not path.exists():
        write_text(path, secrets.token_hex(8) + "\n")
    return path.read_text(encoding="utf-8").strip()


def append(folder: Path, record: Record) -> None:
    """Add a record to those of a folder."""
    with (folder / RECORDS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(record)) + "\n")


def load(folder: Path) -> list[Record]:
    """Return the records of a folder; the last line of a session that was killed while writing it is left out."""
    path = folder / RECORDS
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    return [Record(**json.loads(line)) for line in whole.splitlines()]
