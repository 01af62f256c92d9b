"""Caches with a store behind them: taken from it, put into it, and never held up or failed by it."""

import threading
from pathlib import Path

import pytest

from longlook.core import STORES_BEHIND, ContentStore, InputError
from longlook.store import session
from longlook.store.place import StoreError, Trouble
from longlook.store.session import cache_of, cache_with_store, required_sharing, sharing
from longlook.store.shared import SharedStore, object_name
from tests.unit.store.conftest import NAMES, key

KEY = key("one")


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def named(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGLOOK_STORE", str(place))
    return place


def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be another machine: with caches of its own."""
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache-of-another"))


def names_in(kind: str, name: str) -> set[str] | None:
    return cache_with_store(kind).read(name, lambda folder: {path.name for path in folder.rglob("*") if path.is_file()})


def test_what_one_machine_keeps_another_has(
    named: Path, entry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    with sharing(said.append):
        cache_with_store("trials").keep(KEY, entry, NAMES)
    assert said == ["1 trial put into the store"]
    elsewhere(tmp_path, monkeypatch)
    assert names_in("trials", KEY) is None
    with sharing(said.append):
        assert cache_with_store("trials").has(KEY)
        assert not cache_with_store("trials").has(key("other"))
        assert names_in("trials", KEY) == {"run.json", "log", "entry.json"}
        assert names_in("trials", key("other")) is None
    assert said[1:] == ["1 trial taken from the store"]
    assert cache_of("trials").damage(KEY) is None
    assert names_in("trials", KEY) is not None, "it stays when the store is not there"
    assert STORES_BEHIND == {}


def test_a_damaged_entry_is_named_removed_and_made_again(
    named: Path, entry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    with sharing(said.append):
        cache_with_store("trials").keep(KEY, entry, NAMES)
    path = named / object_name("trials", KEY)
    path.write_bytes(path.read_bytes()[:-9])
    elsewhere(tmp_path, monkeypatch)
    said.clear()
    monkeypatch.setenv("LONGLOOK_STORE_MODE", "read")
    with sharing(said.append):
        assert names_in("trials", KEY) is None
    assert path.exists()
    assert object_name("trials", KEY) in said[0]
    assert "removed" not in said[0]
    monkeypatch.delenv("LONGLOOK_STORE_MODE")
    with sharing(said.append):
        assert names_in("trials", KEY) is None
        assert "removed" in said[1]
        cache_with_store("trials").keep(KEY, entry, NAMES)
    assert said[-1] == "1 trial put into the store"
    assert SharedStore.open(str(named)).damage("trials", KEY) is None


def test_what_is_not_believed_any_more_leaves_the_store_if_this_process_put_it_there(
    named: Path, entry: Path, said: list[str]
) -> None:
    with sharing(said.append) as entered:
        assert entered is not None
        for name in ("one", "other"):
            cache_with_store("trials").keep(key(name), entry, NAMES)
        entered.wait()
        cache_with_store("trials").withdraw(key("other"))
    assert (named / object_name("trials", KEY)).is_file()
    assert not (named / object_name("trials", key("other"))).exists()
    with sharing(said.append):
        cache_with_store("trials").withdraw(KEY)
    assert cache_of("trials").damage(KEY) is not None, "it is not here"
    assert (named / object_name("trials", KEY)).is_file(), "another process may have put it there"


def test_who_only_reads_puts_nothing(
    named: Path, entry: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    SharedStore.open(str(named))
    monkeypatch.setenv("LONGLOOK_STORE_MODE", "read")
    with sharing(said.append):
        cache_with_store("trials").keep(KEY, entry, NAMES)
    assert said == []
    assert list(SharedStore.open(str(named)).entries()) == []


def test_without_a_store_nothing_is_said(monkeypatch: pytest.MonkeyPatch, said: list[str]) -> None:
    monkeypatch.delenv("LONGLOOK_STORE", raising=False)
    with sharing(said.append) as entered:
        assert entered is None
    assert said == []
    with pytest.raises(InputError, match="no store is named"), required_sharing(said.append):
        pass


def test_a_store_that_is_gone_is_one_line(monkeypatch: pytest.MonkeyPatch, said: list[str], entry: Path) -> None:
    def gone(*_: object, **__: object) -> None:
        raise StoreError("the store is gone")

    monkeypatch.setenv("LONGLOOK_STORE", "/nowhere")
    monkeypatch.setattr(SharedStore, "open", gone)
    with sharing(said.append):
        cache_with_store("trials").keep(KEY, entry, NAMES)
        assert cache_of("trials").has(KEY)
    assert said == ["WARNING: the store is gone; the run goes on without the store"]


def test_what_could_not_be_put_is_counted_once_with_the_command(
    named: Path, entry: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    asked: list[str] = []

    def full(_store: SharedStore, _kind: str, name: str, *_: object) -> bool:
        asked.append(name)
        raise StoreError("the store is full", None, Trouble.FULL)

    with sharing(said.append):
        monkeypatch.setattr(SharedStore, "put", full)
        for number in range(30):
            cache_with_store("trials").keep(key(str(number)), entry, NAMES)
    *warned, last = said
    assert warned == ["WARNING: the store is full; the run goes on without it"]
    assert last == (
        "WARNING: 30 of 30 trials were not put into the store: the store is full; `longlook cache push` does it later"
    )
    assert len(asked) < 30, "a full store is not asked for each trial"
    assert len(list(cache_of("trials").held_keys())) == 30


def test_what_failed_is_tried_once_more_at_the_end(
    named: Path, entry: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    real, came = SharedStore.put, threading.Event()

    def once(store: SharedStore, kind: str, name: str, folder: Path, names: list[str]) -> bool:
        if not came.is_set():
            came.set()
            raise StoreError("it is paused")
        return real(store, kind, name, folder, names)

    with sharing(said.append):
        monkeypatch.setattr(SharedStore, "put", once)
        cache_with_store("trials").keep(KEY, entry, NAMES)
        assert came.wait(60)
    assert said == ["WARNING: it is paused; the run goes on without it", "1 trial put into the store"]


def test_a_store_that_does_not_answer_is_left_alone_for_a_while(
    named: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    asked: list[str] = []

    def gone(_store: SharedStore, _kind: str, name: str, _into: Path) -> bool:
        asked.append(name)
        raise StoreError("no answer")

    with sharing(said.append):
        monkeypatch.setattr(SharedStore, "get", gone)
        for number in range(5):
            assert names_in("trials", key(str(number))) is None
        assert len(asked) == 1
        monkeypatch.setattr(session, "_RESTS_S", 0.0)
    assert said == ["WARNING: no answer; the run goes on without it"]


def test_ctrl_c_waits_for_nothing_and_says_what_is_left(
    named: Path, entry: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    go_on = threading.Event()

    def slow(*_: object) -> bool:
        assert go_on.wait(60)
        return True

    with pytest.raises(KeyboardInterrupt), sharing(said.append):
        monkeypatch.setattr(SharedStore, "put", slow)
        for number in range(30):
            cache_with_store("trials").keep(key(str(number)), entry, NAMES)
        raise KeyboardInterrupt
    go_on.set()
    assert "trials were not put into the store: the run was stopped" in said[-1]


@pytest.mark.parametrize(
    ("name", "value"),
    [("LONGLOOK_STORE_MODE", "write"), ("LONGLOOK_STORE_TIMEOUT_S", "soon"), ("LONGLOOK_STORE_TIMEOUT_S", "0")],
)
def test_a_bad_variable_is_named(
    named: Path, name: str, value: str, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=f"{name}={value}"), sharing(said.append):
        pass


def test_a_cache_without_room_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Behind:
        def fetch(self, _key: str, into: Path) -> bool:
            raise OSError(28, "No space left on device", str(into))

        def has(self, _key: str) -> bool:
            return True

        def offer(self, _key: str) -> None:
            raise AssertionError("nothing is new")

    cache = ContentStore(tmp_path / "cache", Behind())
    assert cache.read(KEY, lambda _folder: True) is None
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file() or ".partial" in path.name] == []
