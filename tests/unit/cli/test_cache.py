"""`longlook cache`: what is here and in the store is shown, verified, pruned and copied."""

import json
from pathlib import Path

import pytest

from longlook.store import SharedStore, cache_of, object_name
from tests.support.command_line import call_longlook

KEYS = tuple(str(number) * 64 for number in range(3))


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with three trials and an empty place for a store."""
    monkeypatch.setenv("LONGLOOK_STORE", str(tmp_path / "store"))
    monkeypatch.delenv("LONGLOOK_STORE_MODE", raising=False)
    monkeypatch.delenv("LONGLOOK_TRIALS", raising=False)
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "here"))
    source = tmp_path / "source"
    source.mkdir()
    (source / "run.json").write_text("{}")
    for key in KEYS:
        cache_of("trials").keep(key, source, ["run.json"])
    return tmp_path / "store"


def answered(*arguments: str, code: int = 0) -> str:
    answer = call_longlook("cache", *arguments)
    assert answer.returncode == code, answer.stderr
    return answer.stdout + answer.stderr


def test_everything_is_pushed_and_pulled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "trials: 3 put" in answered("push")
    assert "trials: 3 were there" in answered("push")
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "another"))
    assert json.loads(answered("pull", "--json"))["copied"] == {"trials": 3}
    assert json.loads(answered("pull", "--json")) == {"copied": {}, "there": {"trials": 3}, "missing": {}}
    assert [cache_of("trials").damage(key) for key in KEYS] == [None] * 3


def test_both_places_are_shown(store: Path) -> None:
    answered("push")
    shown = json.loads(answered("show", "--json"))
    assert (shown["entries"], shown["store"]["place"]) == (3, str(store))
    assert [(held["kind"], held["entries"]) for held in shown["store"]["kinds"]] == [("trials", 3)]
    first, second = answered("show").splitlines()
    assert "3 trials" in first
    assert str(store) in second


def test_without_a_store_only_this_machine_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LONGLOOK_STORE")
    assert json.loads(answered("show", "--json"))["store"] is None
    assert json.loads(answered("verify", "--json"))["entries"] == {"here": 3, "store": None}
    for command in (("push",), ("pull",), ("prune", "--in-store", "--most", "1GB")):
        assert "no store is named" in answered(*command, code=2)


def test_damage_is_named_and_removed_if_asked(store: Path) -> None:
    answered("push")
    (store / object_name("trials", KEYS[1])).write_bytes(b"poison")
    said = answered("verify", code=1)
    assert f"damaged: trials/{KEYS[1]}" in said
    assert "read 3 entries here, 3 in the store; damaged: 1" in said
    assert json.loads(answered("verify", "--remove", "--json", code=1))["damaged"][0]["removed"] is True
    assert "damaged: none" in answered("verify")
    assert "trials: 1 put, 2 were there" in answered("push")


def test_a_store_is_pruned_by_size(store: Path) -> None:
    answered("push")
    assert "removed 3 entries" in answered("prune", "--in-store", "--most", "1B")
    assert list(SharedStore.open(str(store)).entries()) == []
    assert len(list(cache_of("trials").held_keys())) == 3, "this machine's cache stays"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("prune", "--in-store"), "needs an age or a size"),
        (("prune", "--most", "1GB"), "--most goes with --in-store"),
        (("prune", "--in-store", "--most", "much"), "--most much"),
        (("show", "--store", ""), "--store names nothing"),
        (("push", "--store", "no-such://x"), "no place for a store"),
    ],
)
def test_wrong_options_are_named(arguments: tuple[str, ...], said: str) -> None:
    assert said in answered(*arguments, code=2)


def test_a_store_that_is_read_only_is_not_pushed_to(monkeypatch: pytest.MonkeyPatch, store: Path) -> None:
    SharedStore.open(str(store))
    assert "only read from here" in answered("push", "--store-read-only", code=3)
    monkeypatch.setenv("LONGLOOK_STORE_MODE", "read")
    SharedStore.open(str(store)).put("trials", KEYS[0], store.parent / "source", ["run.json"])
    assert "only read from here" in answered("prune", "--in-store", "--most", "1B", code=3)
    (store / object_name("trials", KEYS[0])).write_bytes(b"poison")
    assert "only read from here" in answered("verify", "--remove", code=3)
    assert len(list(SharedStore.open(str(store)).entries())) == 1
    SharedStore.open(str(store)).delete("trials", KEYS[0])
    assert list(SharedStore.open(str(store)).entries()) == []
