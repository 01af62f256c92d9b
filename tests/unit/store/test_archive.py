"""Folders as one packed file."""

import io
import tarfile
from pathlib import Path

import pyarrow as pa
import pytest

from longlook.core import InputError
from longlook.store import pack, unpack


def packed_entries(*entries: tuple[tarfile.TarInfo, bytes]) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for entry, data in entries:
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return pa.compress(plain.getvalue(), codec="zstd", asbytes=True)


def packed_folder(folder: Path) -> bytes:
    out = io.BytesIO()
    pack(folder, [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()], out)
    return out.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    (folder / "deep/er").mkdir(parents=True)
    (folder / "deep/er/file").write_bytes(b"x" * 3_000_000)
    (folder / "empty").touch()
    (folder / "program").write_bytes(b"#!/bin/sh\n")
    (folder / "program").chmod(0o700)
    return folder


def test_a_folder_is_the_same_after_it_was_packed_and_unpacked(folder: Path, tmp_path: Path) -> None:
    names = unpack(io.BytesIO(packed_folder(folder)), tmp_path / "out")
    assert names == ["deep/er/file", "empty", "program"]
    assert {name: (tmp_path / "out" / name).read_bytes() for name in names} == {
        name: (folder / name).read_bytes() for name in names
    }
    modes = {name: (tmp_path / "out" / name).stat().st_mode & 0o777 for name in names}
    assert modes == {"deep/er/file": 0o644, "empty": 0o644, "program": 0o755}


def test_the_same_folder_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    first = packed_folder(folder)
    unpack(io.BytesIO(first), tmp_path / "copy")
    assert packed_folder(tmp_path / "copy") == first


@pytest.mark.parametrize("name", ["/etc/passwd", "../out", "a/../../b", "./a", "a//b"])
def test_a_name_that_leads_elsewhere_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a file below it"):
        unpack(io.BytesIO(packed_entries((tarfile.TarInfo(name), b""))), tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE])
def test_anything_but_a_file_is_refused(kind: bytes, tmp_path: Path) -> None:
    entry = tarfile.TarInfo("name")
    entry.type, entry.linkname = kind, "/etc/passwd"
    with pytest.raises(InputError, match="not a file below it"):
        unpack(io.BytesIO(packed_entries((entry, b""))), tmp_path / "out")


def test_a_file_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    twice = packed_entries((tarfile.TarInfo("a"), b"1"), (tarfile.TarInfo("a"), b"2"))
    with pytest.raises(InputError, match="twice"):
        unpack(io.BytesIO(twice), tmp_path / "out")


def test_a_packed_file_that_was_cut_is_damaged_wherever_it_was_cut(folder: Path, tmp_path: Path) -> None:
    whole = packed_folder(folder)
    for number, length in enumerate([0, 1, 4, len(whole) // 2, len(whole) - 20]):
        with pytest.raises(InputError, match="damaged"):
            unpack(io.BytesIO(whole[:length]), tmp_path / str(number))


def test_more_than_the_bound_is_not_unpacked(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="more than 1000 bytes"):
        unpack(io.BytesIO(packed_folder(folder)), tmp_path / "out", most_bytes=1000)
    assert not (tmp_path / "out" / "deep/er/file").exists()


@pytest.mark.parametrize("names", [["n" * 300], ["a", "a/b/c"], ["a/b", "a"]])
def test_names_that_no_folder_can_have_are_damage(names: list[str], tmp_path: Path) -> None:
    with pytest.raises(InputError):
        unpack(io.BytesIO(packed_entries(*((tarfile.TarInfo(name), b"") for name in names))), tmp_path / "out")


def test_a_header_that_cannot_be_read_is_damage(tmp_path: Path) -> None:
    entry = tarfile.TarInfo("a")
    entry.pax_headers = {"GNU.sparse.map": "abc"}
    with pytest.raises(InputError, match="damaged"):
        unpack(io.BytesIO(packed_entries((entry, b""))), tmp_path / "out")


def test_names_without_end_are_not_read(tmp_path: Path) -> None:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        entry = tarfile.TarInfo("file")
        entry.pax_headers = {"comment": "x" * (2 << 20)}
        archive.addfile(entry, io.BytesIO())
    with pytest.raises(InputError, match="more than 1 MiB of names"):
        unpack(io.BytesIO(pa.compress(plain.getvalue(), codec="zstd", asbytes=True)), tmp_path / "out")
