"""The public names of `longlook.api` against their record, docs/data/api.json: a change is seen, and made on purpose.

`python -m scripts.generate --check` compares; `python -m scripts.public_api` writes the record anew. The code is read
by griffe; of it only the table of columns is imported.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import griffe

from longlook.api.columns import TABLES
from longlook.core.faces import shown_by

ROOT = Path(__file__).parents[1]
PACKAGE = "longlook.api"
FACE = Path("src/longlook/api/__init__.py")
RECORD = Path("docs/data/api.json")
RENEW = "python -m scripts.public_api"
CONSTRUCTED = ("Study", "Figure")
"""The classes that callers construct; others come from calls."""


def public(root: Path = ROOT) -> dict[str, str]:
    """Return the signature of every public name and member, as it is written, and the unit of every column of a table.

    Names are as seen from the package; a column is TABLE[COLUMN].
    """
    modules: dict[str, griffe.Object] = {}
    found: dict[str, str] = {}
    for name, (module, defined) in sorted(shown_by(root / FACE, PACKAGE).items()):
        if module not in modules:
            path = root / "src" / Path(*module.split(".")).with_suffix(".py")
            modules[module] = griffe.visit(module, path, path.read_text(encoding="utf-8"))
        item = modules[module].members.get(defined)
        if item is None or item.is_alias:
            found[name] = "as core has it"
        else:
            found.update(_written(name, item))
    columns = {f"{name}[{column}]": each.unit for name, table in TABLES.items() for column, each in table.items()}
    return found | columns


def _written(name: str, item: "griffe.Object | griffe.Alias") -> Iterator[tuple[str, str]]:
    if isinstance(item, griffe.Function):
        yield name, str(item.signature())
    elif isinstance(item, griffe.Class):
        bases = ", ".join(map(str, item.bases))
        yield name, f"class({bases})"
        for member, each in item.members.items():
            if not member.startswith("_") or (member == "__init__" and name in CONSTRUCTED):
                yield from _written(f"{name}.{member}", each)
    elif isinstance(item, griffe.Attribute):
        kind = "property" if "property" in item.labels else "attribute"
        yield name, f"{kind}: {item.annotation}"


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return a line for each name that is gone, new or written otherwise; what breaks callers comes first."""
    gone = [f"{name} is gone (it was {was})" for name, was in before.items() if name not in now]
    other = [f"{name} is {now[name]}, and was {was}" for name, was in before.items() if now.get(name, was) != was]
    return [*gone, *other, *(f"{name} is new: {made}" for name, made in now.items() if name not in before)]


def changes(root: Path = ROOT) -> list[str]:
    """Return how the public names differ from their record, with what to do about it as the last line; empty if not."""
    record = root / RECORD
    before = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    found = differences(before, public(root))
    if not found:
        return []
    what = (
        f"{PACKAGE} is public (docs/reference/compatibility.md#python): name each change in CHANGELOG.md, keep an old "
        f"name for one minor release, and then renew {RECORD} by `{RENEW}`"
    )
    return [*found, what]


def main() -> None:
    """Write the record."""
    text = json.dumps(public(), indent=1, ensure_ascii=False) + "\n"
    (ROOT / RECORD).write_text(text, encoding="utf-8")
    sys.stdout.write(f"{RECORD} is written: name what changed in CHANGELOG.md\n")


if __name__ == "__main__":
    main()
