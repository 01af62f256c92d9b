"""A store of several machines: what comes back is what was put, or is refused by name."""

import json
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from longlook.core.errors import InputError, MachineError
from longlook.store import place as places
from longlook.store.archive import pack
from longlook.store.place import Place, StoreError, Trouble
from longlook.store.shared import MARKER, DamagedEntryError, SharedStore, object_name
from tests.unit.store.conftest import NAMES, key

KEY = key("one")


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def got(store: SharedStore, tmp_path: Path, name: str = KEY, kind: str = "trials") -> dict[str, bytes] | None:
    into = tmp_path / "into" / str(time.monotonic_ns())
    into.mkdir(parents=True)
    return files_of(into) if store.get(kind, name, into) else None


@pytest.mark.parametrize("kind_of_place", ["folder", "file URL", "memory"])
def test_what_is_put_comes_back(kind_of_place: str, place: Path, memory: str, entry: Path, tmp_path: Path) -> None:
    url = {"folder": str(place), "file URL": place.as_uri(), "memory": memory}[kind_of_place]
    store = SharedStore.open(url)
    assert got(store, tmp_path) is None
    assert not store.has("trials", KEY)
    assert store.put("trials", KEY, entry, NAMES)
    assert store.has("trials", KEY)
    assert got(SharedStore.open(url, writes=False), tmp_path) == files_of(entry)
    assert got(store, tmp_path, kind="measured") is None
    (listed,) = store.entries()
    assert (listed.kind, listed.key) == ("trials", KEY)
    assert listed.changed_unix_s == pytest.approx(time.time(), abs=3600)
    store.delete("trials", KEY)
    store.delete("trials", KEY)
    assert got(store, tmp_path) is None
    assert list(store.entries()) == []


def test_a_second_writer_leaves_what_is_there(store: SharedStore, entry: Path, tmp_path: Path) -> None:
    assert store.put("trials", KEY, entry, NAMES)
    before = files_of(entry)
    (entry / "run.json").write_text("[]")
    assert not store.put("trials", KEY, entry, NAMES)
    assert got(store, tmp_path) == before


def test_whether_a_file_is_executable_is_kept(store: SharedStore, entry: Path, tmp_path: Path) -> None:
    (entry / "run.json").chmod(0o755)
    store.put("programs", KEY, entry, NAMES)
    into = tmp_path / "into"
    into.mkdir()
    assert store.get("programs", KEY, into)
    assert (into / "run.json").stat().st_mode & stat.S_IXUSR
    assert not (into / "deep" / "log").stat().st_mode & stat.S_IXUSR


def damaged_by(store: SharedStore, tmp_path: Path) -> str:
    with pytest.raises(DamagedEntryError) as caught:
        got(store, tmp_path)
    assert object_name("trials", KEY) in caught.value.message
    assert store.damage("trials", KEY) == caught.value.reason
    return caught.value.reason


@pytest.mark.parametrize("kept_share", [0.0, 0.01, 0.5, 0.99])
def test_a_cut_object_is_refused(
    store: SharedStore, place: Path, entry: Path, tmp_path: Path, kept_share: float
) -> None:
    store.put("trials", KEY, entry, NAMES)
    path = place / object_name("trials", KEY)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * kept_share)])
    damaged_by(store, tmp_path)


def test_no_changed_byte_comes_through(store: SharedStore, place: Path, entry: Path, tmp_path: Path) -> None:
    """A byte of the container that decides nothing may change; the files are as they were put, or refused."""
    store.put("trials", KEY, entry, NAMES)
    path = place / object_name("trials", KEY)
    data = path.read_bytes()
    for at in range(0, len(data), max(1, len(data) // 97)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        try:
            found = got(store, tmp_path)
        except DamagedEntryError:
            continue
        assert found == files_of(entry), at


def test_an_object_of_another_key_is_refused(store: SharedStore, place: Path, entry: Path, tmp_path: Path) -> None:
    store.put("trials", other := key("other"), entry, NAMES)
    target = place / object_name("trials", KEY)
    target.parent.mkdir(parents=True)
    (place / object_name("trials", other)).rename(target)
    assert other in damaged_by(store, tmp_path)


def test_a_poisoned_object_is_refused(store: SharedStore, place: Path, entry: Path, tmp_path: Path) -> None:
    """Sound as an archive, with other files than its digests say."""
    store.put("trials", KEY, entry, NAMES)
    about = {"kind": "trials", "key": KEY, "files": {name: key("lies") for name in NAMES}}
    with (place / object_name("trials", KEY)).open("wb") as file:
        pack(entry, NAMES, file, {".object.json": json.dumps(about)})
    assert damaged_by(store, tmp_path) == "deep/log was changed"
    with (place / object_name("trials", KEY)).open("wb") as file:
        pack(entry, NAMES[:1], file, {".object.json": json.dumps(about)})
    assert damaged_by(store, tmp_path) == "deep/log is missing, or was added"
    for text in ("", "[]", "{}", '{"kind": "trials"}', "[" * 100_000):
        with (place / object_name("trials", KEY)).open("wb") as file:
            pack(entry, NAMES, file, {".object.json": text})
        damaged_by(store, tmp_path)


def test_names_that_no_entry_has_are_refused(store: SharedStore, entry: Path) -> None:
    for kind, name in (("../trials", KEY), ("trials", "../../etc"), ("", KEY), ("trials", ""), ("trials", "x" * 64)):
        with pytest.raises(InputError, match="no entry"):
            store.put(kind, name, entry, NAMES)


def test_a_place_of_others_is_left_as_it_is(place: Path, entry: Path) -> None:
    place.mkdir()
    (place / "thesis.tex").write_text("years of work")
    for writes in (True, False):
        with pytest.raises(InputError, match="has other things") as caught:
            SharedStore.open(str(place), writes=writes)
        assert "empty" in str(caught.value.hint)
    assert files_of(place) == {"thesis.tex": b"years of work"}
    (place / MARKER).write_text('{"longlook": "something else"}')
    with pytest.raises(InputError, match="another's"):
        SharedStore.open(str(place))
    (place / MARKER).write_text('{"longlook": "store", "schema": 2}')
    with pytest.raises(InputError, match="schema 2"):
        SharedStore.open(str(place))


def test_who_only_reads_makes_nothing(place: Path, entry: Path) -> None:
    with pytest.raises(StoreError, match="no store in"):
        SharedStore.open(str(place), writes=False)
    assert not place.exists()
    SharedStore.open(str(place))
    with pytest.raises(StoreError, match="only read") as caught:
        SharedStore.open(str(place), writes=False).put("trials", KEY, entry, NAMES)
    assert caught.value.trouble is Trouble.READ_ONLY


def test_a_place_that_cannot_be_is_an_error_of_the_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no place for a store"):
        SharedStore.open("no-such-protocol://x")
    (tmp_path / "file").write_text("")
    with pytest.raises((InputError, StoreError)):
        SharedStore.open(str(tmp_path / "file" / "below"))


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MachineError) as caught:
        SharedStore.open("s3://bucket/prefix")
    assert "longlook[store]" in str(caught.value.hint)


def test_nothing_half_written_is_ever_seen(store: SharedStore, place: Path, entry: Path) -> None:
    """A write that fails in the middle leaves neither an entry nor a part of one."""

    class Failing(Place):
        def _put(self, name: str, source: Path) -> None:
            real = self._files.mv
            self._files.mv = self._fail
            try:
                super()._put(name, source)
            finally:
                self._files.mv = real

        def _fail(self, *_: object) -> None:
            raise OSError(28, "No space left on device")

    failing = SharedStore(Failing(str(place), 30.0), writes=True)
    with pytest.raises(StoreError, match="full") as caught:
        failing.put("trials", KEY, entry, NAMES)
    assert caught.value.trouble is Trouble.FULL
    assert set(files_of(place)) == {MARKER}


def test_what_interrupted_uploads_left_is_no_entry(store: SharedStore, place: Path, entry: Path) -> None:
    store.put("trials", KEY, entry, NAMES)
    left = (place / object_name("trials", KEY)).with_name(f"{places._UNFINISHED}0")
    left.write_bytes(b"half")
    assert [each.key for each in store.entries()] == [KEY]
    (unfinished,) = store.unfinished()
    store.clear(unfinished)
    assert not left.exists()


WRITER = """
import sys
from pathlib import Path
from longlook.store.shared import SharedStore
store = SharedStore.open(sys.argv[1])
for key in sys.argv[3:]:
    store.put("trials", key, Path(sys.argv[2]), ["run.json", "deep/log"])
"""


def test_processes_that_write_the_same_entries_at_once(place: Path, entry: Path, tmp_path: Path) -> None:
    keys = [key(str(number)) for number in range(12)]
    command = [sys.executable, "-c", WRITER, str(place), str(entry)]
    writers = [subprocess.Popen([*command, *(keys if number % 2 else keys[::-1])]) for number in range(4)]
    assert [writer.wait(120) for writer in writers] == [0] * 4
    store = SharedStore.open(str(place))
    assert sorted(each.key for each in store.entries()) == sorted(keys)
    assert [got(store, tmp_path, each) for each in keys] == [files_of(entry)] * len(keys)
    assert store.unfinished() == []


READER = """
import sys
from pathlib import Path
from longlook.store.place import StoreError
from longlook.store.shared import SharedStore
store = SharedStore.open(sys.argv[1])
try:
    store.put("trials", sys.argv[4], Path(sys.argv[2]), ["run.json", "deep/log"])
except StoreError as error:
    print(error.trouble, store.has("trials", sys.argv[3]))
"""


@pytest.mark.lab
def test_a_folder_on_a_read_only_file_system(store: SharedStore, place: Path, entry: Path) -> None:
    store.put("trials", KEY, entry, NAMES)
    mounted = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
    alone = ("unshare", "--mount", "--propagation=private", "sh", "-c", mounted, str(place))
    program = (sys.executable, "-c", READER, str(place), str(entry), KEY, key("two"))
    answer = subprocess.run([*alone, *program], capture_output=True, text=True, check=False)
    assert (answer.stdout, answer.stderr) == ("read-only True\n", "")
    assert [each.key for each in store.entries()] == [KEY]


def test_a_server_that_never_answers_costs_the_time_that_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{listener.getsockname()[1]}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        with pytest.raises(StoreError, match=r"did not answer within 0\.5 s") as caught:
            SharedStore.open("s3://bucket/prefix", timeout_s=0.5)
    assert caught.value.trouble is Trouble.GONE
