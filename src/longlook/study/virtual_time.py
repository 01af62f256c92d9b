"""Refuse trials that an engine or a client cannot run, before anything runs. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from longlook.core import BOTTLENECKS, InputError, Plan, Study, Trial, endpoints_of, find_metric, registry
from longlook.network import largest_rate_bps
from longlook.study import processors, tcp
from longlook.study.catalogue import Catalogue
from longlook.study.expectations import metrics_expected
from longlook.study.laws import NONE, STANDARD
from longlook.study.plan import make_plan
from longlook.study.schema import SAMPLED, STRATA
from longlook.timeline import Kind

FASTEST_BPS = 200e6
"""Beyond it a real endpoint's CPU decides what is measured, and in a guest CPU costs nothing. It is a limit of what a
study states: what its rounds draw about that may lie a little above."""

VIRTUAL = "virtual"
"""The engine's name."""

_BOTH = " and ".join(processors.KEYS)


_LOGS = ("netlog", "keylog")


def default_around(engine: str) -> str:
    """Return the neighbourhood of studies that state none: in real time every round differs anyway."""
    return STANDARD if engine == VIRTUAL else NONE


def default_losses(engine: str) -> str:
    """Return how a comparison treats random losses if nothing is asked for: only trials that repeat can be strata."""
    return STRATA if engine == VIRTUAL else SAMPLED


def check_virtual(study: Study, plan: Plan, engine: str, catalogue: Catalogue | None = None) -> None:
    """Raise InputError if a trial in virtual time needs what only real time has; `engine` is the run's default.

    The plan's arms and cells are the study's. `catalogue` is the plan's; None: what is installed.
    """
    virtual = [trial for trial in plan.trials if (trial.engine or engine) == VIRTUAL]
    if not virtual:
        return
    metrics = [find_metric(name) for name in (*study.metrics, *metrics_expected(study))]
    free = [trial for trial in virtual if len(trial.processors) < len(processors.KEYS)]
    if free and (real := [metric.name for metric in metrics if metric.real_time]):
        raise InputError(
            f"study {study.id} asks for {', '.join(real)}, which virtual time does not have: CPU costs no time there",
            f"use --engine live, leave them out of the metrics, or give arm {free[0].arm} {_BOTH}"
            " (docs/explanation/processors.md)",
        )
    if counted := [metric.name for metric in metrics if metric.counted]:
        raise InputError(
            f"study {study.id} asks for {', '.join(counted)}, which is counted in real time alone",
            "use --engine live, or leave them out of the metrics",
        )
    if study.capture.cpu:
        raise InputError(
            f"study {study.id} captures where CPU time goes, which virtual time does not have: CPU costs no time there",
            "use --engine live, or leave capture.cpu out",
        )
    if limited := [trial for trial in virtual if trial.client_cpu_share is not None]:
        raise InputError(
            f"arm {limited[0].arm} limits its client to {limited[0].client_cpu_share:.0%} of a CPU, which virtual time "
            "cannot do: CPU costs no time there",
            'use --engine live, or set client_cpu = "off"',
        )
    fast = [trial for trial in free if _fastest_bps(trial) > FASTEST_BPS]
    for trial in _as_stated(study, fast, catalogue):
        if (rate_bps := _fastest_bps(trial)) > FASTEST_BPS:
            raise InputError(
                f"cell {trial.cell_id} has a link of {rate_bps / 1e6:g} Mbit/s: above {FASTEST_BPS / 1e6:g} Mbit/s the "
                "endpoints' CPU decides, which costs no time in virtual time",
                f"use --engine live, or a lower rate, or give arm {trial.arm} {_BOTH} (docs/explanation/processors.md)",
            )


def _as_stated(study: Study, trials: Iterable[Trial], catalogue: Catalogue | None) -> list[Trial]:
    """Return a trial for each cell and arm of `trials`, with the settings that the study states if rounds draw any."""
    first = {(trial.cell_id, trial.arm): trial for trial in trials}
    point = replace(study, around={}, rounds=1)
    cells = {trial.cell_id: trial.cell for trial in first.values() if trial.drawn}
    for cell in cells.values():
        only = [f"{factor}={label}" for factor, label in cell.items()]
        stated = make_plan(point, only, catalogue).trials
        first |= {key: trial for trial in stated if (key := (trial.cell_id, trial.arm)) in first}
    return list(first.values())


def check_live(study: Study, plan: Plan, engine: str) -> None:
    """Raise InputError if a trial in real time sets what belongs to the machine's whole kernel; as `check_virtual`.

    In virtual time each trial has a kernel of its own.
    """
    for trial in plan.trials:
        if trial.processors and (trial.engine or engine) != VIRTUAL:
            raise InputError(
                f"study {study.id}, arm {trial.arm} gives its {next(iter(trial.processors))} a processor of its own, "
                "which in real time is this machine's",
                f"use --engine virtual, or client_cpu for a share of this machine's, or leave {_BOTH} out",
            )
        shared = [key for key in tcp.OF_CUBIC if tcp.parameter(key) in trial.tcp]
        if shared and (trial.engine or engine) != VIRTUAL:
            raise InputError(
                f"study {study.id}, arm {trial.arm} sets {' and '.join(shared)}, which in real time would change Cubic "
                "for everything that runs on this machine",
                "use --engine virtual, where each trial has a kernel of its own, or leave it out",
            )


def _fastest_bps(trial: Trial) -> float:
    """Return the rate of the faster direction, in bit/s."""
    stages = [stage for link in trial.links.values() for stage in (*link.up, *link.down)]
    return max((largest_rate_bps(stage) for stage in stages if stage.kind in BOTTLENECKS), default=0.0)


def check_remote(study: Study, plan: Plan, engine: str) -> None:
    """Raise InputError if a trial asks something of a client on another machine that only one here can do.

    `engine` is the run's default.
    """
    for trial in plan.trials:
        names = sorted({end.stack for end in endpoints_of(trial) if registry.stack(end.stack).remote})
        for wrong, hint in _problems_of_remote_client(trial, trial.engine or engine) if names else ():
            raise InputError(f"study {study.id}, arm {trial.arm}: {names[0]} {wrong}", hint)


_PAINTS = frozenset({Kind.FIRST_CONTENTFUL_PAINT, Kind.LARGEST_CONTENTFUL_PAINT})


def check_paints(study: Study, plan: Plan) -> None:
    """Raise InputError if a study asks when pages are shown, and a trial has a client that shows none."""
    names = (*study.metrics, *metrics_expected(study))
    asked = [name for name in names if not _PAINTS.isdisjoint(find_metric(name).needs)]
    blind = [trial for trial in plan.trials if not registry.stack(trial.client.stack).paints] if asked else []
    if blind:
        able = [name for name, stack in registry.stacks().items() if stack.paints]
        raise InputError(
            f"study {study.id} asks for {' and '.join(asked)}, and client {blind[0].client.stack} of arm "
            f"{blind[0].arm} shows no pages",
            f"leave the metric out, or take a browser as client: {', '.join(able)}",
        )


def _problems_of_remote_client(trial: Trial, engine: str) -> Iterator[tuple[str, str]]:
    if engine == VIRTUAL:
        yield "is a browser on another machine, whose time is real", "use --engine live (docs/guide/browsers.md)"
    if trial.competes:
        yield "cannot be one of several flows that compete", "use it in a study with one client, or another client"
    if trial.client_cpu_share is not None:
        yield "has a processor of its own, which client_cpu cannot limit", 'set client_cpu = "off"'
    if logs := [name for name in _LOGS if getattr(trial.capture, name)]:
        yield f"keeps its {logs[0]} on its own machine", f"leave capture.{logs[0]} out"
