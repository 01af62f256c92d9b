"""The page of longlook.api: every public name with its signature, its docstring and its examples, and every column."""

import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from longlook.core.faces import shown_by
from scripts.public_api import CONSTRUCTED, FACE, PACKAGE, ROOT
from scripts.reference import MARK, sentences

_ORDER = (
    *("study", "Study", "open", "Run", "Cell", "Trial", "Explanation", "Explanations", "Figure"),
    *("compare", "Comparison", "to_csv", "studies"),
)
"""The names in the order of the page; what is left of them are errors."""
_PROMPT = ">>> "


def page() -> str:
    """Return the page *Results in Python*."""
    import longlook.api as ll
    from longlook.api.columns import TABLES

    head = (
        "[Longlook in Python](../guide/python.md) shows how these names are used; "
        "[compatibility](compatibility.md#python) says how they may change. "
        "Examples are run as tests, with made-up trials in `runs/plain`. "
        "All names are of one module: `import longlook.api as ll`."
    )
    parts = [f"{MARK}# Results in Python", sentences(head)]
    parts += [_section(name, getattr(ll, name)) for name in _ORDER]
    parts += ["## Errors", *map(_error, sorted(set(shown_by(ROOT / FACE, PACKAGE)) - set(_ORDER)))]
    parts += ["## Columns", sentences(_COLUMNS)]
    parts += [f"### Columns of `{name}`\n{_table(columns)}" for name, columns in TABLES.items()]
    return "\n\n".join(parts) + "\n"


_COLUMNS = (
    "A column has one name and one meaning in all tables. "
    "FACTOR stands for each factor of the study, METRIC for each metric, UNIT for a unit. "
    "The ending of a metric's column is its unit: `s`, `ms`, `pct` for %, `mbps` for Mbit/s, `bytes`, else the unit's "
    "own letters. "
    "`Cell.samples`, `Cell.verdicts` and `Cell.estimates` have the columns of the run's tables. "
    "`Study.cells` has the columns of `Run.cells`."
)


def _section(name: str, made: Any) -> str:
    if not inspect.isclass(made):
        return f"## `{name}`\n{_call(name, made)}\n\n{_text(made)}"
    begin = f"## `{name}`\n{_call(name, made)}" if name in CONSTRUCTED else f"## `{name}`"
    lines = [begin, _text(made)]
    members = [(each, value) for each, value in vars(made).items() if not each.startswith("_")]
    for each, value in members:
        if isinstance(value, property):
            lines.append(f"### `{name}.{each}`\n{_text(value.fget)}")
        elif callable(value):
            lines.append(f"### `{name}.{each}`\n{_call(f'{name.lower()}.{each}', value)}\n\n{_text(value)}")
    fields = getattr(made, "__dataclass_fields__", {})
    if fields:
        lines.append("Fields: " + ", ".join(f"`{field}`" for field in fields) + ".")
    return "\n\n".join(lines)


def _call(name: str, made: Callable[..., Any]) -> str:
    parameters = inspect.signature(made).parameters.values()
    shown = [str(each.replace(annotation=inspect.Parameter.empty)) for each in parameters if each.name != "self"]
    if any(each.kind is inspect.Parameter.KEYWORD_ONLY for each in parameters) and not any(
        each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters
    ):
        first = next(
            number
            for number, each in enumerate(each for each in parameters if each.name != "self")
            if each.kind is inspect.Parameter.KEYWORD_ONLY
        )
        shown.insert(first, "*")
    return textwrap.indent("\n".join(textwrap.wrap(f"{name}({', '.join(shown)})", 110)), "    ")


def _text(made: Any) -> str:
    """Return a docstring as Markdown: sentences one a line, examples as blocks."""
    return "\n\n".join(_blocks(inspect.getdoc(made) or ""))


def _blocks(text: str) -> Iterator[str]:
    for block in text.split("\n\n"):
        if block.startswith(_PROMPT):
            yield textwrap.indent(block, "    ")
        else:
            yield sentences(block)


def _error(name: str) -> str:
    import longlook.api as ll

    return f"- `{name}`: {sentences(inspect.getdoc(getattr(ll, name)) or '')}".replace("\n\n", " ").replace(
        "\n", "\n  "
    )


def _table(columns: Mapping[str, Any]) -> str:
    rows = (f"| `{name}` | {column.unit} | {column.meaning} |" for name, column in columns.items())
    return "| column | unit | what it holds |\n|---|---|---|\n" + "\n".join(rows)


PAGES: Mapping[str, Callable[[], str]] = {"docs/reference/python.md": page}
"""The page that this module makes, with its function."""
