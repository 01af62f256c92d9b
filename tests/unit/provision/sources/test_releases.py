"""Releases of a registry that no stack declares: how they are named, recorded, ordered and refused."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest

from longlook.core import SourceTree, find_tree, registry, tree_folder
from longlook.core.errors import InputError, MachineError
from longlook.provision.catalogue import versions_here
from longlook.provision.registries.declared import registries, registry_of
from longlook.provision.registries.registry import Published, Registry, nearest_releases, releases
from longlook.provision.sources import resolve
from longlook.provision.sources.releases import by_age, copied_releases
from longlook.provision.sources.resolve import is_sources, version_of
from tests.unit.provision.sources.test_resolve import STACK

HELD = ("0.60.0", "0.64.0", "0.64.1", "0.65.0", "0.66.0", "0.67.0-rc.1")


@dataclass(frozen=True)
class Held(Registry):
    """A registry with a few releases; `asked` counts what was asked of it."""

    title: ClassVar[str] = "the test's registry"
    asked: ClassVar[list[str]] = []
    reachable: ClassVar[bool] = True

    def versions(self) -> Sequence[str]:
        return HELD

    def find(self, version: str) -> Published | None:
        if not self.reachable:
            raise self.unreachable("no network")
        self.asked.append(version)
        return Published(version, "2026-10-16") if version in HELD else None

    def fetch(self, stack: str, version: str, into: Path) -> str:
        assert STACK.from_sources is not None
        STACK.from_sources.unpack(version, into)
        return f"{self.package} {version} sha256:00"


@pytest.fixture(autouse=True)
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> type[Held]:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    Held.asked.clear()
    monkeypatch.setattr(Held, "reachable", True)
    monkeypatch.setattr(resolve, "registry_of", lambda _name: Held(("planted",)))
    return Held


def test_a_release_gets_the_recipe_of_the_newest_known_one_that_is_no_newer() -> None:
    name = version_of(STACK, "0.66.0")
    assert name == "0.66.0~recipe-0.65.0"
    found = find_tree("planted", name)
    assert found is not None
    assert (found.of, found.says, found.authored) == ("0.65.0", "0.66.0", "2026-10-16")
    assert found.origin == "planted 0.66.0 sha256:00 of the test's registry"
    version = STACK.version(name)
    assert (version.of, version.released) == ("0.65.0", "2026-10-16")


def test_a_release_older_than_all_known_ones_gets_the_oldest_recipe() -> None:
    assert version_of(STACK, "0.60.0") == "0.60.0~recipe-0.64.1"


def test_another_recipe_can_be_asked_for() -> None:
    assert version_of(STACK, "0.66.0,of=0.64.1") == "0.66.0~recipe-0.64.1"
    with pytest.raises(InputError, match=r"no version '0\.63'"):
        version_of(STACK, "0.66.0,of=0.63")


def test_the_name_in_results_names_it_as_well(held: type[Held]) -> None:
    assert version_of(STACK, "0.64.0~recipe-0.65.0") == "0.64.0~recipe-0.65.0"
    assert held.asked == ["0.64.0"]


def test_a_copy_needs_no_registry_until_it_is_damaged(held: type[Held], monkeypatch: pytest.MonkeyPatch) -> None:
    name = version_of(STACK, "0.66.0")
    monkeypatch.setattr(held, "reachable", False)
    assert version_of(STACK, "0.66.0") == name
    (tree_folder("planted", name) / "tree" / "VERSION").write_text("another\n")
    with pytest.raises(MachineError, match="the test's registry cannot be asked for planted: no network"):
        version_of(STACK, "0.66.0")


def test_a_release_that_the_registry_lacks_is_refused_with_the_nearest_ones() -> None:
    with pytest.raises(InputError) as error:
        version_of(STACK, "0.64.7")
    assert error.value.message == "planted has no version '0.64.7', and the test's registry has no such release of it"
    assert "0.64.0, 0.64.1, 0.65.0, 0.66.0" in str(error.value.hint)


def test_a_release_for_which_no_recipe_is_made_is_refused(held: type[Held], monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(_self: Held, _stack: str, _version: str, into: Path) -> str:
        into.mkdir()
        (into / "other").touch()
        return "nothing"

    monkeypatch.setattr(held, "fetch", fetch)
    with pytest.raises(
        InputError, match=r"0\.66\.0 cannot be built by the recipe of 0\.65\.0: the sources have no VER"
    ):
        version_of(STACK, "0.66.0")


def test_known_versions_are_not_asked_for(held: type[Held]) -> None:
    assert version_of(STACK, "0.64.1") == "0.64.1"
    with pytest.raises(InputError, match="no version '9'"):
        version_of(STACK, "9")
    assert held.asked == []


def test_a_text_of_a_study_that_names_a_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "stacks", lambda: {"planted": STACK, "whole": replace(STACK, from_sources=None)})
    assert is_sources("planted@0.66.0")
    assert is_sources("planted@0.64.0~recipe-0.65.0")
    for text in ("planted@0.64.1", "planted@9", "planted", "whole@0.66.0", "see planted@0.66.0"):
        assert not is_sources(text), text


def test_a_registry_without_sources_is_not_asked(held: type[Held], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "has_sources", False)
    with pytest.raises(InputError, match=r"no version '0\.66\.0'"):
        version_of(STACK, "0.66.0")


def test_order_of_age() -> None:
    copied = [version_of(STACK, version) for version in ("0.66.0", "0.64.0", "0.60.0")]
    assert by_age(STACK, copied) == (
        *("0.60.0~recipe-0.64.1", "0.64.0~recipe-0.64.1", "0.64.1"),
        *("0.65.0+knobs", "0.65.0", "0.66.0~recipe-0.65.0"),
    )
    assert sorted(copied_releases(STACK)) == sorted(copied)


def test_copied_releases_are_listed_with_their_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    version_of(STACK, "0.66.0")
    monkeypatch.setattr(registry, "stacks", lambda: {"planted": STACK})
    monkeypatch.setattr(registry, "stack", lambda _name: STACK)
    for names in ((), ("planted",)):
        listed = {entry.version: entry.recipe_of for entry in versions_here(names)}
        assert listed == {"0.64.1": "", "0.65.0+knobs": "", "0.65.0": "", "0.66.0~recipe-0.65.0": "0.65.0"}
    assert [entry.version for entry in versions_here(["planted@0.65.0"])] == ["0.65.0"]


def test_numbers_decide_which_releases_are_near() -> None:
    assert releases(HELD) == ["0.60.0", "0.64.0", "0.64.1", "0.65.0", "0.66.0"]
    assert nearest_releases(HELD, "9.0") == ["0.64.0", "0.64.1", "0.65.0", "0.66.0"]
    assert nearest_releases(HELD, "0.1") == ["0.60.0", "0.64.0"]
    assert nearest_releases((), "0.1") == []


def test_every_registry_is_of_a_stack_and_every_stack_from_sources_has_one() -> None:
    named = registries()
    assert named.keys() <= registry.stacks().keys()
    from_sources = {name for name, stack in registry.stacks().items() if stack.from_sources and not stack.of_images}
    assert from_sources <= named.keys()
    assert all(each.packages for each in named.values())


def test_a_root_of_plug_ins_names_registries_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_PLUGINS", str(tmp_path))
    (tmp_path / "registries.toml").write_text('[pypi]\nmine = ["mine-lib"]\n')
    found = registry_of("mine")
    assert found is not None
    assert found.package == "mine-lib"
    for text, message in (("[pypy]\nmine = []", "no registry 'pypy'"), ("[go", "cannot be read"), ("go = 1", "cannot")):
        (tmp_path / "registries.toml").write_text(text)
        with pytest.raises(InputError, match=message):
            registries()


def test_a_copy_of_a_run_elsewhere_is_none_of_this_machine() -> None:
    assert SourceTree("planted", "0.66.0~recipe-0.65.0", "0.65.0", "", "").reported == "0.65.0+sources"
    assert copied_releases(STACK) == []
