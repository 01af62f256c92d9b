"""Offers of the Tab key for arguments: names of studies, stacks, versions, presets, metrics, causes, levels and cells.

A completion never fails: if something cannot be read, nothing is offered.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import typer

_MOST = 200


def studies(incomplete: str) -> list[str]:
    """Offer the names of studies."""
    from longlook.study import study_files

    return _offered(study_files, incomplete)


def metrics(incomplete: str) -> list[str]:
    """Offer the names of metrics."""
    from longlook.core import registry

    return _offered(lambda: registry.load("metrics"), incomplete)


def causes(incomplete: str) -> list[str]:
    """Offer the names of causes."""
    from longlook.core import registry

    return _offered(lambda: registry.load("causes"), incomplete)


def stacks(incomplete: str) -> list[str]:
    """Offer the names of stacks, and behind an @ their versions, the latest first."""
    from longlook.core import registry

    name, at, _ = incomplete.partition("@")
    if not at:
        return _offered(registry.stacks, incomplete)
    return _offered(
        lambda: [f"{name}@{version.name}" for version in reversed(registry.stack(name).versions)], incomplete
    )


def networks(incomplete: str) -> list[str]:
    """Offer the presets of the network."""
    from longlook.network import PRESETS

    return _offered(lambda: PRESETS, incomplete)


def levels(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer FACTOR=LEVEL and contrast=NAME of the study that the command line names."""
    return _offered(lambda: _levels(str(ctx.params["study"])), incomplete)


def cells(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer the cells of the run folder that the command line names, by their levels."""
    return _offered(lambda: _cells(ctx.params), incomplete)


def _levels(study: str) -> Iterator[str]:
    from longlook.study import find_study

    found = find_study(study)
    yield from (f"{factor.name}={level.label}" for factor in found.factors for level in factor.levels)
    yield from (f"contrast={contrast.name}" for contrast in found.contrasts)


def _cells(params: dict[str, object]) -> list[str]:
    from longlook.core import RunFolder

    given = params.get("run_folder") or params.get("paths") or params.get("run")
    first = given[0] if isinstance(given, Sequence) and not isinstance(given, str) else given
    plan = RunFolder.open(Path(str(first))).plan
    return list(dict.fromkeys(",".join(trial.cell.values()) for trial in plan.trials))


def _offered(names: Callable[[], Iterable[str]], incomplete: str) -> list[str]:
    try:
        return [name for name in names() if name.startswith(incomplete)][:_MOST]
    except Exception:
        return []
