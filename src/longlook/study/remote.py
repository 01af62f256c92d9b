"""Refuse what a client on another machine cannot do, before anything runs. Pure."""

from collections.abc import Iterator

from longlook.core import registry
from longlook.core.errors import InputError
from longlook.core.flows import endpoints_of
from longlook.core.model import Plan, Study, Trial
from longlook.study.virtual_time import VIRTUAL

_LOGS = ("netlog", "keylog")


def check_remote(study: Study, plan: Plan, engine: str) -> None:
    """Raise InputError where a trial asks something of a client on another machine that only one here can do.

    `engine` is the run's default.
    """
    for trial in plan.trials:
        names = sorted({end.stack for end in endpoints_of(trial) if registry.stack(end.stack).remote})
        for wrong, hint in _problems(trial, trial.engine or engine) if names else ():
            raise InputError(f"study {study.id}, arm {trial.arm}: {names[0]} {wrong}", hint)


def _problems(trial: Trial, engine: str) -> Iterator[tuple[str, str]]:
    if engine == VIRTUAL:
        yield "is a browser on another machine, whose time is real", "use --engine live (docs/guide/phones.md)"
    if trial.competes:
        yield "cannot be one of several flows that compete", "use it in a study with one client, or another client"
    if trial.client_cpu_share is not None:
        yield "has a processor of its own, which client_cpu cannot limit", 'set client_cpu = "off"'
    if logs := [name for name in _LOGS if getattr(trial.capture, name)]:
        yield f"keeps its {logs[0]} on its own machine", f"leave capture.{logs[0]} out"
