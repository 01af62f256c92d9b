"""Bundles of strangers: nothing leaves the folder, nothing that was edited passes."""

import hashlib
import json
import shutil
import stat
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from longlook.core import InputError, LonglookError
from longlook.instruments.bundle.archive import unpack_bundle, write_bundle
from longlook.instruments.bundle.layout import ABOUT, SUMS

GOOD: Mapping[str, Path | bytes] = {
    ABOUT: json.dumps(
        dict.fromkeys(("longlook", "study", "plan_hash"), "x")
        | {"format": 1, "schema_version": 2, "trials": 1, "exact": 1, "results": None, "artefacts": False}
    ).encode(),
    "a/b.txt": b"text" * 1000,
}


def made(path: Path, contents: Mapping[str, Path | bytes] = GOOD) -> Path:
    write_bundle(path, contents, frozenset())
    return path


def unpacked(path: Path, place: Path) -> Path:
    place.mkdir()
    unpack_bundle(path, place)
    return place


def copied(path: Path, change: Callable[[zipfile.ZipFile], None], *, without: frozenset[str] = frozenset()) -> Path:
    """Return a copy of a bundle with members left out, and changed by a call."""
    out = path.with_name("changed.zip")
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as after:
        for entry in before.infolist():
            if entry.filename not in without:
                after.writestr(entry, before.read(entry))
        change(after)
    return out


def nothing(_archive: zipfile.ZipFile) -> None:
    """Change nothing."""


def test_what_is_written_comes_out_and_the_same_contents_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = made(tmp_path / "1.zip"), made(tmp_path / "2.zip", dict(reversed(GOOD.items())))
    assert first.read_bytes() == second.read_bytes()
    place = unpacked(first, tmp_path / "out")
    assert (place / "a" / "b.txt").read_bytes() == GOOD["a/b.txt"]
    lines = (place / SUMS).read_text().splitlines()
    assert f"{hashlib.sha256(b'text' * 1000).hexdigest()}  a/b.txt" in lines


@pytest.mark.parametrize("share", [0.0, 0.2, 0.6, 0.99])
def test_a_bundle_that_was_cut_is_refused(tmp_path: Path, share: float) -> None:
    path = made(tmp_path / "1.zip")
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(InputError, match="no sound bundle"):
        unpacked(path, tmp_path / "out")


def test_no_byte_can_change_without_a_word(tmp_path: Path) -> None:
    path = made(tmp_path / "1.zip", {**GOOD, "raw.png": bytes(range(256))})
    data = path.read_bytes()
    place = data.index(bytes(range(256)))
    for offset in (place, place + 100, place + 255):
        path.write_bytes(data[:offset] + bytes([data[offset] ^ 1]) + data[offset + 1 :])
        with pytest.raises(LonglookError):
            unpacked(path, tmp_path / f"out-{offset}")


def test_an_edited_file_is_named(tmp_path: Path) -> None:
    path = made(tmp_path / "1.zip")
    edited = copied(path, lambda archive: archive.writestr("a/b.txt", "other"), without=frozenset({"a/b.txt"}))
    with pytest.raises(LonglookError, match=r"a/b\.txt is not what SHA256SUMS says") as caught:
        unpacked(edited, tmp_path / "out")
    assert caught.value.exit_code == 1


def test_folders_that_another_program_lists_do_not_matter(tmp_path: Path) -> None:
    path = copied(made(tmp_path / "1.zip"), lambda archive: archive.writestr(zipfile.ZipInfo("a/"), ""))
    assert (unpacked(path, tmp_path / "out") / "a" / "b.txt").is_file()


def test_files_that_were_added_or_removed_are_named(tmp_path: Path) -> None:
    path = made(tmp_path / "1.zip")
    with pytest.raises(LonglookError, match=r"new\.txt was added"):
        unpacked(copied(path, lambda archive: archive.writestr("new.txt", "x")), tmp_path / "out-1")
    with pytest.raises(LonglookError, match=r"a/b\.txt is missing"):
        unpacked(copied(path, nothing, without=frozenset({"a/b.txt"})), tmp_path / "out-2")


@pytest.mark.parametrize(
    "name", ["../out.txt", "/etc/x", "a/../../x", "a\\b", "./x", "a//b", "a/", ".", "a\nb", "x" * 300, "\u202ea"]
)
def test_names_that_leave_the_folder_or_mislead_are_refused(tmp_path: Path, name: str) -> None:
    path = copied(made(tmp_path / "1.zip"), lambda archive: archive.writestr(zipfile.ZipInfo(name), "x"))
    with pytest.raises(InputError):
        unpacked(path, tmp_path / "out")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["1.zip", "changed.zip", "out"]
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFDIR, stat.S_IFIFO, stat.S_IFBLK])
def test_links_folders_and_devices_are_refused(tmp_path: Path, kind: int) -> None:
    entry = zipfile.ZipInfo("link")
    entry.external_attr = (kind | 0o777) << 16
    path = copied(made(tmp_path / "1.zip"), lambda archive: archive.writestr(entry, "/etc/passwd"))
    with pytest.raises(InputError, match="is a link, a folder or a device"):
        unpacked(path, tmp_path / "out")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_twice_is_refused(tmp_path: Path) -> None:
    path = copied(made(tmp_path / "1.zip"), lambda archive: archive.writestr("a/b.txt", "other"))
    with pytest.raises(InputError, match=r"has 'a/b\.txt' twice"):
        unpacked(path, tmp_path / "out")


def test_a_name_that_is_a_file_and_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a file and a folder"):
        unpacked(made(tmp_path / "1.zip", {**GOOD, "a": b"x"}), tmp_path / "out")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path / "1.zip", {**GOOD, "zeros": bytes(1 << 22)})
    monkeypatch.setattr("longlook.instruments.bundle.archive.LARGEST_BYTES", 1 << 20)
    with pytest.raises(InputError, match="larger than a bundle's files"):
        unpacked(path, tmp_path / "out")
    monkeypatch.undo()
    data = bytearray(path.read_bytes())  # a size that no Deflate could have
    entry = data.rindex(b"zeros") - 46
    data[entry + 24 : entry + 28] = (1 << 31).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(InputError):
        unpacked(path, tmp_path / "out-2")
    assert not list((tmp_path / "out").iterdir()) and not list((tmp_path / "out-2").iterdir())


def test_a_bundle_needs_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _place: shutil._ntuple_diskusage(9, 9, 9))  # type: ignore[attr-defined]
    with pytest.raises(LonglookError, match="are free in") as caught:
        unpacked(made(tmp_path / "1.zip"), tmp_path / "out")
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("facts", [{"format": 2}, {"schema_version": 3}])
def test_a_newer_bundle_names_the_version_to_install(tmp_path: Path, facts: Mapping[str, int]) -> None:
    about = GOOD[ABOUT]
    assert isinstance(about, bytes)
    newer = {**json.loads(about), **facts, "longlook": "7.1.0", "unknown": True}
    with pytest.raises(InputError, match=r"made by Longlook 7\.1\.0") as caught:
        unpacked(made(tmp_path / "1.zip", {**GOOD, ABOUT: json.dumps(newer).encode()}), tmp_path / "out")
    assert "longlook==7.1.0" in str(caught.value.hint)


@pytest.mark.parametrize("about", [b"", b"[]", b"{", b'{"format": "1"}', b'{"format": 1}', b"\xff"])
def test_damaged_facts_are_refused(tmp_path: Path, about: bytes) -> None:
    with pytest.raises(InputError):
        unpacked(made(tmp_path / "1.zip", {**GOOD, ABOUT: about}), tmp_path / "out")


def test_any_other_zip_is_no_bundle(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("letter.txt", "dear")
    with pytest.raises(InputError, match="is no bundle of Longlook"):
        unpacked(tmp_path / "other.zip", tmp_path / "out")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(InputError, match="no sound bundle"):
        unpacked(tmp_path / "text", tmp_path / "out-2")
