"""How declared versions stand beside those of registries."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from longlook.core import MachineError
from longlook.core.errors import InputError
from longlook.provision.registries import outdated
from longlook.provision.registries.debian_archive import upstream_version
from longlook.provision.registries.registry import Published, Registry
from tests.support.command_line import call_longlook


@dataclass(frozen=True)
class Listed(Registry):
    """A registry that lists its packages as if they were versions."""

    title: ClassVar[str] = "the test's registry"

    def versions(self) -> Sequence[str]:
        if not self.packages:
            raise MachineError("the test's registry cannot be asked", "")
        return self.packages

    def find(self, version: str) -> Published | None:
        return Published(version, "2027-01-02")

    def fetch(self, stack: str, version: str, into: Path) -> str:
        raise NotImplementedError


class Newest(Listed):
    """A registry that lists its newest alone."""

    lists_all = False


def set_registries(monkeypatch: pytest.MonkeyPatch, **known: Registry) -> None:
    named = {name.replace("_", "-"): each for name, each in known.items()}
    monkeypatch.setattr(outdated, "registries", lambda: named)


def test_the_newest_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    set_registries(
        monkeypatch,
        quic_go=Listed(("0.65.0", "0.64.1", "0.100.0", "0.70.0", "0.101.0-rc.1")),
        tquic=Listed(("1.6.0",)),
        nginx=Newest(("99.0.1",)),
        quinn=Listed(()),
    )
    nginx, quic_go, quinn, tquic = outdated.standings()
    assert (quic_go.declared, quic_go.newest, quic_go.newest_date, quic_go.newer) == (
        *("0.65.0", "0.100.0", "2027-01-02"),
        2,
    )
    assert (tquic.newest, tquic.newer, tquic.is_outdated) == ("1.6.0", 0, False)
    assert (quic_go.can_be_named, nginx.can_be_named) == (True, False)
    assert (nginx.newest, nginx.newer, nginx.is_outdated) == ("99.0.1", None, True)
    assert (quinn.newest, quinn.is_outdated, quinn.failure) == ("", False, "the test's registry cannot be asked")


def test_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    set_registries(monkeypatch, quic_go=Listed(("0.66.0",)), quinn=Listed(()))
    done = call_longlook("stacks", "outdated", "quic-go", "--json")
    assert done.returncode == 0, done.stderr
    assert '"outdated": true' in done.stdout
    done = call_longlook("stacks", "outdated")
    assert done.returncode == 3
    assert "0.66.0" in done.stdout
    assert "the test's registry cannot be asked" in done.stderr


def test_a_stack_without_a_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    set_registries(monkeypatch, quic_go=Listed(("0.66.0",)))
    with pytest.raises(InputError, match="no registry of chromium is known"):
        outdated.standings(["chromium"])
    with pytest.raises(InputError, match="unknown stack"):
        outdated.standings(["chromiumm"])


def test_versions_of_debian() -> None:
    given = ("1:2.4.1-3", "1.30.6-2", "2.4.71-1~deb13u1", "3.1")
    assert [upstream_version(version) for version in given] == ["2.4.1", "1.30.6", "2.4.71", "3.1"]
