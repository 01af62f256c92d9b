"""A study, and what a run of it would do, on a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from longlook.core import Plan, Scalar, Study, codec, shown
from longlook.network import settings
from longlook.study import count_trials
from longlook.terminal import Renderings, duration

if TYPE_CHECKING:
    from longlook.pipeline import Preview
    from longlook.provision import PageContradiction, RecordedPage
    from longlook.run import Forecast


def study_summary(
    study: Study, cells: int, differences: Mapping[str, Mapping[str, Scalar]], forecast: "Forecast | None"
) -> RenderableType:
    """Return a study in a screenful; `cells` is how many of its cells are chosen.

    `differences` are the settings of each arm in which the arms differ. `forecast` is of all its trials, None if they
    are too many to plan.
    """
    table = Table(box=None, show_header=False)
    table.add_row("question", Text(study.question))
    if study.source:
        table.add_row("source", Text(study.source))
    for arm in study.arms:
        table.add_row(f"arm {arm.name}", Text(arm.label))
        table.add_row("", Text(_spelt(differences[arm.name]), style="dim"))
    for factor in study.factors:
        table.add_row(f"factor {factor.name}", Text(", ".join(level.label for level in factor.levels)))
    for key, value in sorted(settings.complete(study.settings).items()):
        table.add_row(key, Text(str(value)))
    for setting, law in study.around.items():
        table.add_row(f"around {setting}", Text(law))
    if not study.around:
        table.add_row("around", "none: every round has exactly these settings")
    table.add_row("metrics", ", ".join(study.metrics))
    for contrast in study.contrasts:
        family = f" (family {contrast.family})" if contrast.family else ""
        arms = f"{contrast.baseline} → {contrast.contender} on {contrast.metric}"
        table.add_row("contrast", Text(f"{contrast.name}{family}: {arms}"))
    for each in study.expectations:
        about = ", ".join([*([each.arm] if each.arm else []), *each.levels.values()])
        table.add_row("expect", Text(f"{each.name}: {each.text}{f' ({about})' if about else ''}"))
    table.add_row("claims", str(len(study.claims)))
    table.add_row("size", _size(cells, study, count_trials(study, cells)))
    if forecast is not None:
        most = "at most " if study.stopping else ""
        table.add_row("time", Text(f"{most}{forecast.in_words('if every trial has to run')}"))
    parts: list[RenderableType] = [Text.assemble((study.id, "bold"), f"  {study.title}"), table]
    if study.notes:
        parts.append(Text(study.notes))
    return Group(*parts)


def checked_shown(study: Study, plan: Plan) -> Renderings:
    """Return that a study can be planned, and how large it is."""
    cells = len({trial.cell_id for trial in plan.trials})
    lines = [f"{study.id}: sound; {_size(cells, study, len(plan.trials))}; plan {plan.hash}"]
    data = {"study": study.id, "sound": True, "cells": cells, "trials": len(plan.trials), "plan_hash": plan.hash}
    return Renderings(lambda: lines, lambda: data)


def _spelt(differing: Mapping[str, Scalar]) -> str:
    """Return `protocol h3, server_knobs.pacing true`."""
    texts = (value if isinstance(value, str) else shown(value) for value in differing.values())
    return ", ".join(f"{key} {text}" for key, text in zip(differing, texts, strict=True)) or "no setting differs"


def _size(cells: int, study: Study, trials: int) -> str:
    most = "at most " if study.stopping else ""
    return f"{most}{_product(cells, len(study.arms), study.rounds, trials)}"


def _product(cells: int, arms: int, rounds: int, trials: int) -> str:
    """Return `9 cells × 2 arms × 10 rounds = 180 trials`, with ` + 18 at the stated point` if losses are integrated."""
    parts = ((cells, "cell"), (arms, "arm"), (rounds, "round"))
    product = " × ".join(f"{count} {noun}" + "s" * (count != 1) for count, noun in parts)
    if stated := trials - cells * arms * rounds:
        product += f" + {stated} at the stated point"
    return f"{product} = {trials} trial" + "s" * (trials != 1)


def preview_shown(found: "Preview") -> Renderings:
    """Return what a run would do."""
    return Renderings(lambda: _parts(found), lambda: {**codec.encode(found), "to_run": found.left})


def _parts(found: "Preview") -> Iterator[RenderableType]:
    table = Table("cell", "levels", "trials", box=None)
    for cell in found.cells:
        levels = ", ".join(f"{name}={label}" for name, label in cell.cell.items())
        table.add_row(Text(cell.cell_id), Text(levels), str(cell.trials))
    yield table
    yield from _lines(found)


def _lines(found: "Preview") -> list[str]:
    engines = ", ".join(f"{count} {name}" for name, count in found.engines.items())
    lines = [
        f"{found.study}: {'at most ' if found.decides else ''}"
        f"{_product(len(found.cells), found.arms, found.rounds, found.trials)} "
        f"({engines}); plan {found.plan_hash}"
    ]
    if found.finished:
        lines.append(f"finished before: {found.finished}")
    if found.install:
        lines.append(f"to install first: longlook setup {' '.join(found.install)}")
        lines.append("cached: unknown until that is installed")
    else:
        lines.append(f"cached: {found.cached}; to run: {found.left}")
    if found.integrated:
        cells = f"{found.integrated} cell" + "s" * (found.integrated != 1)
        lines.append(
            f"losses of {cells} are integrated, if they can be: single losses and patterns come on top, four times"
        )
        lines.append("as many trials in shipped studies; --losses sampled draws the losses instead")
    if found.repeats:
        lines.append(f"repeats for --verify: {found.repeats * found.trials}")
    lines.append(f"time: {'at most ' if found.decides else ''}{found.forecast.in_words()}")
    if found.live_at_most_s is not None:
        lines.append(f"live trials take at most {duration(found.live_at_most_s)}, besides setting up and tearing down")
    return lines


def page_summary(
    digest: str, page: "RecordedPage", implausible: "Sequence[PageContradiction]" = ()
) -> Iterator[Text | Table]:
    """Yield the page's size and origins, its phases, how dependences are known, what is left out or changed, and what
    of its recording contradicts the rest.
    """
    from longlook.provision import evidence_counts

    origins = f"{len(page.origins)} origin{'s' if len(page.origins) != 1 else ''}"
    yield Text(
        f"{len(page.objects)} objects, {_kilobytes(page.size_bytes)}, {origins}, recorded by {page.creator}: {digest}"
    )
    table = Table("phase", "objects", "bytes", "kinds", box=None)
    for number, objects in enumerate(page.phases):
        kinds = {item.kind: sum(other.kind == item.kind for other in objects) for item in objects}
        total = _kilobytes(sum(item.size_bytes for item in objects))
        table.add_row(str(number), str(len(objects)), total, _counted(kinds))
    yield table
    yield Text(f"dependences: {_counted(evidence_counts(page))}")
    for what, counts in (("left out", page.skipped), ("changed", page.changed)):
        if counts:
            yield Text(f"{what}: {_counted(counts)}", style="yellow")
    for found in implausible:
        yield Text(f"implausible: {found.problem} ({found.check})", style="yellow")


def _kilobytes(size_bytes: int) -> str:
    return f"{size_bytes / 1000:,.1f} KB"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} × {name}" for name, count in counts.items())
