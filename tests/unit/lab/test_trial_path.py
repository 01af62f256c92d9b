"""The hops of a trial's path, and that a path whose set-up fails gives back what it has made."""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self
from unittest.mock import Mock

import pytest

from longlook.core.links import BEHIND, MAIN, SECOND
from longlook.core.model import Trial
from longlook.lab import trial_path
from longlook.lab.addresses import IPV4
from longlook.lab.topology import CLIENT, SERVER
from longlook.lab.trial_path import TrialPath, hops_of
from tests.data.trials import TRIAL

PATHS = {
    "one link": TRIAL,
    "a middle": replace(TRIAL, further={BEHIND: TRIAL.link}),
    "two paths": replace(TRIAL, further={SECOND: TRIAL.link}),
}


@dataclass
class Machine:
    """Namespaces and sides that are open; the part with the number `refused` cannot be made."""

    refused: int
    made: int = 0
    open: int = 0

    def make(self, *_: Any, **__: Any) -> "Part":
        if self.made == self.refused:
            raise OSError(1, "refused")
        self.made += 1
        return Part(self, *_)


class Part:
    """A namespace or a side of the network."""

    def __init__(self, machine: Machine, end: Any = None, *_: Any) -> None:
        self.machine, self.end = machine, end
        self.inside = nullcontext
        machine.open += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.machine.open -= 1


def entered(monkeypatch: pytest.MonkeyPatch, machine: Machine, trial: Trial) -> TrialPath:
    monkeypatch.setattr(trial_path, "Namespace", machine.make)
    monkeypatch.setattr(trial_path, "EndpointNamespace", machine.make)
    monkeypatch.setattr(trial_path, "Path", Mock())
    return TrialPath(trial, Mock(end=CLIENT), "packet", "rs1")


def test_one_link_leads_from_the_client_to_the_server() -> None:
    (hop,) = hops_of(PATHS["one link"], "rs1")
    assert (hop.link, hop.near, hop.far) == (MAIN, CLIENT, replace(SERVER, router_device="rs1"))


def test_a_middle_ends_the_first_link_and_begins_the_second() -> None:
    first, second = hops_of(PATHS["a middle"], "rs1")
    assert (first.link, second.link) == (MAIN, BEHIND)
    assert (first.near, second.far) == (CLIENT, SERVER)
    assert first.far.address == second.near.address == IPV4.middle
    assert (first.far.router_device, second.near.router_device) == ("rs1", "rc")
    assert (first.far.mac, second.near.mac) == (SERVER.mac, CLIENT.mac)


def test_a_second_path_joins_the_ends_once_more() -> None:
    first, second = hops_of(PATHS["two paths"], "rs1")
    assert (first.link, second.link) == (MAIN, SECOND)
    assert (second.near.role, second.far.role) == (CLIENT.role, SERVER.role)
    assert (second.near.address, second.far.address) == (IPV4.second_client, SERVER.address)
    assert len({end.mac for hop in (first, second) for end in (hop.near, hop.far)}) == 4


@pytest.mark.parametrize(("name", "parts"), [("one link", 2), ("a middle", 6), ("two paths", 5)])
def test_a_path_that_cannot_be_made_gives_everything_back(
    monkeypatch: pytest.MonkeyPatch, name: str, parts: int
) -> None:
    for refused in range(parts):
        machine = Machine(refused)
        with pytest.raises(OSError, match="refused"), entered(monkeypatch, machine, PATHS[name]):
            pass
        assert (machine.made, machine.open) == (refused, 0)
    machine = Machine(parts)
    with entered(monkeypatch, machine, PATHS[name]) as path:
        assert machine.open == machine.made == parts
        assert len(path.sides) == 2 * len(path.hops)
    assert machine.open == 0
