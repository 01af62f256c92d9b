"""Layers are applied as the OCI specification says, and nothing of a hostile one leaves its root."""

import gzip
import io
import os
import stat
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.core import InputError
from longlook.provision.images import bounds
from longlook.provision.images.layers import Unpacking
from tests.support.images import GZIP, PLAIN, ZSTD, Entry, digest, folder, hard_link, layer, link, packed, tree


def unpack(root: Path, *layers: bytes, packing: str = PLAIN) -> Unpacking:
    root.mkdir(exist_ok=True)
    found = Unpacking(root, "a.tar")
    for each in layers:
        blob = packed(each, packing)
        found.add(io.BytesIO(blob), digest(blob), digest(each))
    found.finish()
    return found


@pytest.mark.parametrize("packing", [PLAIN, GZIP, ZSTD])
def test_a_later_layer_replaces_removes_and_adds(tmp_path: Path, packing: str) -> None:
    low = layer(folder("a"), Entry("a/x", b"1"), Entry("a/y", b"2"), Entry("b/z", b"3"), Entry("c", b"4"))
    high = layer(Entry("a/x", b"new"), Entry("a/.wh.y"), Entry("b/.wh..wh..opq"), Entry("b/own", b"5"), Entry(".wh.c"))
    unpack(tmp_path / "r", low, high, packing=packing)
    assert tree(tmp_path / "r") == {"a/x": b"new", "b/own": b"5"}


def test_an_opaque_folder_keeps_what_its_own_layer_added_before_the_mark(tmp_path: Path) -> None:
    low = layer(Entry("b/old", b"1"), Entry("b/sub/old", b"1"))
    high = layer(Entry("b/new", b"2"), Entry("b/sub/new", b"2"), Entry("b/.wh..wh..opq"))
    unpack(tmp_path / "r", low, high)
    assert tree(tmp_path / "r") == {"b/new": b"2", "b/sub/new": b"2"}


def test_links_lead_through_the_images_own_root(tmp_path: Path) -> None:
    low = layer(folder("usr/bin"), link("bin", "/usr/bin"), link("usr/up", "../usr/bin"))
    high = layer(Entry("bin/sh", b"shell", mode=0o755), Entry("usr/up/ls", b"ls"), hard_link("usr/bin/bash", "bin/sh"))
    unpack(tmp_path / "r", low, high)
    found = tree(tmp_path / "r")
    assert found["usr/bin/sh"] == b"shell"
    assert found["usr/bin/ls"] == b"ls"
    assert (tmp_path / "r/usr/bin/bash").samefile(tmp_path / "r/usr/bin/sh")


def test_modes_are_kept_without_what_gives_rights(tmp_path: Path) -> None:
    found = unpack(
        tmp_path / "r",
        layer(
            Entry("su", b"x", mode=0o6755), Entry("secret", b"x", mode=0o600), folder("tmp", 0o1777), folder("o", 0o700)
        ),
    )
    modes = {name: stat.S_IMODE((tmp_path / "r" / name).stat().st_mode) for name in ("su", "secret", "tmp", "o")}
    assert modes == {"su": 0o755, "secret": 0o644, "tmp": 0o755, "o": 0o755}
    assert found.open_folders == {"tmp"}
    assert (tmp_path / "r/su").stat().st_mtime == 1_600_000_000


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ((Entry("../x", b"1"),), "leads out of its root"),
        ((Entry("/etc/passwd", b"1"),), "leads out of its root"),
        ((Entry("a/../../x", b"1"),), "leads out of its root"),
        ((link("a", "../.."), Entry("a/x", b"1")), "link out of its root"),
        ((link("a", "b"), link("b", "a"), Entry("a/x", b"1")), "links in a circle"),
        ((Entry("f", b"1"), Entry("f/x", b"1")), "below what is no folder"),
        ((hard_link("a", "/etc/passwd"),), "leads out of its root"),
        ((hard_link("a", "../../etc/passwd"),), "leads out of its root"),
        ((link("d", "../../etc"), hard_link("a", "d/passwd")), "link out of its root"),
        ((hard_link("a", "later"), Entry("later", b"1")), "hard link to what is no file"),
        ((folder("d"), hard_link("a", "d")), "hard link to what is no file"),
        ((Entry("pipe", kind=tarfile.FIFOTYPE),), "device or a pipe"),
        ((Entry("etc/disk", kind=tarfile.BLKTYPE),), "device or a pipe"),
        ((Entry("a/.wh..."),), "removes no name"),
        ((Entry("a/.wh."),), "removes no name"),
        ((Entry("n" * 300, b"1"),), "too long"),
        ((Entry("big", size=bounds.MOST_FILE_BYTES + 1),), "GiB"),
    ],
)
def test_a_hostile_layer_is_refused(tmp_path: Path, entries: tuple[Entry, ...], says: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    with pytest.raises(InputError, match=says) as raised:
        unpack(tmp_path / "r", layer(*entries))
    assert raised.value.hint
    assert list(outside.iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} == {"r", "outside"}


def test_devices_below_dev_are_left_out_and_counted(tmp_path: Path) -> None:
    found = unpack(
        tmp_path / "r", layer(Entry("dev/null", kind=tarfile.CHRTYPE), Entry("dev/p", kind=tarfile.FIFOTYPE))
    )
    assert (found.devices, tree(tmp_path / "r")) == (2, {})


def test_a_bomb_is_stopped_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_BYTES", 1 << 20)
    plain = layer(Entry("zeros", bytes(64 << 20)))
    (tmp_path / "r").mkdir()
    with pytest.raises(InputError, match="GiB"):
        Unpacking(tmp_path / "r", "a.tar").add(io.BytesIO(gzip.compress(plain)), "", "")
    assert sum(path.stat().st_size for path in (tmp_path / "r").rglob("*")) <= 2 << 20


def test_entries_without_end_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_ENTRIES", 10)
    with pytest.raises(InputError, match="more than 10 entries"):
        unpack(tmp_path / "r", layer(*(Entry(str(number)) for number in range(11))))


def test_a_header_that_would_fill_memory_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 3 << 30
    (tmp_path / "r").mkdir()
    with pytest.raises(InputError, match="header of more than 1 MiB"):
        Unpacking(tmp_path / "r", "a.tar").add(io.BytesIO(layer(Entry("a"))[:512] + info.tobuf()), "", "")


@pytest.mark.parametrize("packing", [PLAIN, GZIP, ZSTD])
def test_a_layer_that_is_cut_or_changed_is_damaged(tmp_path: Path, packing: str) -> None:
    plain = layer(Entry("a", bytes(range(256)) * 40), Entry("b", b"2"))
    blob = packed(plain, packing)
    for number, changed in enumerate((blob[: len(blob) // 2], blob[:40] + bytes([blob[40] ^ 1]) + blob[41:])):
        (tmp_path / str(number)).mkdir()
        with pytest.raises(InputError, match="damaged"):
            Unpacking(tmp_path / str(number), "a.tar").add(io.BytesIO(changed), digest(blob), digest(plain))


PARTS = st.sampled_from(["a", "b", "c", "..", ".", "", ".wh.a", ".wh..wh..opq", ".wh...", "dev", "é"])
NAMES = st.lists(PARTS, min_size=1, max_size=4).map("/".join)
KINDS = st.sampled_from([tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
ENTRIES = st.builds(Entry, NAMES, NAMES.map(str.encode), KINDS, st.integers(0, 0o7777))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(ENTRIES, max_size=6), max_size=3))
def test_nothing_is_written_outside_of_the_root(
    tmp_path_factory: pytest.TempPathFactory, layers: list[list[Entry]]
) -> None:
    top = tmp_path_factory.mktemp("image")
    (top / "secret").write_bytes(b"mine")
    root = top / "x/root"
    root.mkdir(parents=True)
    with suppress(InputError):
        unpack(root, *(layer(*entries) for entries in layers))
    assert sorted(path.name for path in top.iterdir()) == ["secret", "x"]
    assert [path.name for path in (top / "x").iterdir()] == ["root"]
    assert (top / "secret").read_bytes() == b"mine"
    assert (top / "secret").stat().st_nlink == 1
    for path in root.rglob("*"):
        state = path.lstat()
        assert path.is_symlink() or not state.st_mode & 0o7022
        assert path.is_symlink() or stat.S_ISDIR(state.st_mode) or stat.S_ISREG(state.st_mode)
    assert os.access(root, os.R_OK)


MODEL = st.dictionaries(st.sampled_from(["a", "b/c", "b/d", "e/f/g"]), st.binary(max_size=3), max_size=4)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(MODEL, st.sets(st.sampled_from(["a", "b/c", "b", "e/f"]))), min_size=1, max_size=4))
def test_layers_add_up_to_what_a_dictionary_of_files_adds_up_to(
    tmp_path_factory: pytest.TempPathFactory, layers: list[tuple[dict[str, bytes], set[str]]]
) -> None:
    expected: dict[str, bytes] = {}
    made = []
    for added, removed in layers:
        expected = {
            path: data
            for path, data in expected.items()
            if not any(f"{path}/".startswith(f"{gone}/") for gone in removed)
        } | added
        marks = [Entry(str(Path(path).with_name(f".wh.{Path(path).name}"))) for path in sorted(removed)]
        made.append(layer(*marks, *(Entry(path, data) for path, data in sorted(added.items()))))
    root = tmp_path_factory.mktemp("image") / "r"
    unpack(root, *made)
    assert tree(root) == expected
