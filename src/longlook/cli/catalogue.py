"""`longlook metrics` and `causes`: everything that studies may measure, and that an explanation may suspect."""

from collections.abc import Iterable
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from longlook.core import InputError
from longlook.terminal import AsJson, Renderings, completion, document_printer

metrics_app = typer.Typer(help="The metrics that a study may name.", no_args_is_help=True)
causes_app = typer.Typer(help="The causes that longlook explain knows.", no_args_is_help=True)

Search = Annotated[str | None, typer.Argument(metavar="[WORD]", help="A word that they have; default: all.")]


@metrics_app.command("list")
def metrics_list(word: Search = None, as_json: AsJson = False) -> None:
    """Name every metric with its unit, its better direction and its definition."""
    found = [_metric(each) for each in _having(word, _load("metrics"), ("name", "label", "summary"))]
    document_printer(as_json=as_json).show(_listed(found, ("name", "unit", "better", "summary"), word))


@metrics_app.command("show")
def metrics_show(
    name: Annotated[str, typer.Argument(help="A metric.", autocompletion=completion.metrics)], as_json: AsJson = False
) -> None:
    """Show what a metric means, what it needs, and the difference that does not matter."""
    found = _metric(_one("metrics", name))
    document_printer(as_json=as_json).show(_shown(found))


@causes_app.command("list")
def causes_list(word: Search = None, as_json: AsJson = False) -> None:
    """Name every cause with whose doing it is and the change that cures it."""
    found = [_cause(each) for each in _having(word, _load("causes"), ("name", "title", "sentence"))]
    document_printer(as_json=as_json).show(_listed(found, ("name", "role", "title", "cured_by"), word))


@causes_app.command("show")
def causes_show(
    name: Annotated[str, typer.Argument(help="A cause.", autocompletion=completion.causes)], as_json: AsJson = False
) -> None:
    """Show the sentence of a cause, its source, the needs of its detector, and its cure."""
    found = _cause(_one("causes", name))
    document_printer(as_json=as_json).show(_shown(found))


def _load(folder: str) -> list[Any]:
    from longlook.core import registry

    return list(registry.load(folder).values())


def _one(folder: str, name: str) -> Any:
    from longlook.core import registry
    from longlook.study import near_names

    known = registry.load(folder)
    if name not in known:
        near = near_names(name, known)
        hint = f"the nearest: {', '.join(near)}; " if near else ""
        raise InputError(f"unknown {folder.removesuffix('s')} {name!r}", f"{hint}longlook {folder} list names all")
    return known[name]


def _having(word: str | None, plugins: Iterable[Any], fields: tuple[str, ...]) -> list[Any]:
    """Return the plug-ins with a word in one of some fields, whatever its case."""
    wanted = (word or "").lower()
    return [each for each in plugins if any(wanted in str(getattr(each, field)).lower() for field in fields)]


def _metric(metric: Any) -> dict[str, Any]:
    return {
        "name": metric.name,
        "label": metric.label,
        "unit": metric.unit,
        "better": str(metric.better),
        "summary": metric.summary,
        "quantity": str(metric.quantity),
        "margin": f"{metric.margin.size:g} {metric.effect_unit}: {metric.margin.reason}",
        "needs": ", ".join(metric.needs),
        "engine": "real time" if metric.real_time or metric.counted else "any",
    }


def _cause(cause: Any) -> dict[str, Any]:
    return {
        "name": cause.name,
        "title": cause.title,
        "role": cause.role,
        "sentence": f"The load takes longer, because {cause.sentence}",
        "source": cause.source,
        "needs": ", ".join(cause.needs) or "the link's log",
        "cured_by": cause.cured_by,
    }


def _listed(found: list[dict[str, Any]], columns: tuple[str, ...], word: str | None) -> Renderings:
    table = Table(*(column.replace("_", " ") for column in columns), box=None)
    for each in found:
        table.add_row(*(Text(str(each[column])) for column in columns))
    return Renderings(lambda: [table] if found else [f"nothing with {word!r}"], lambda: found)


def _shown(found: dict[str, Any]) -> Renderings:
    table = Table(box=None, show_header=False)
    for key, value in found.items():
        if value:
            table.add_row(key.replace("_", " "), Text(str(value)))
    return Renderings(lambda: [table], lambda: found)
