"""Unpacked crates are compared with their archives, and those with the lock file."""

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from longlook.core.errors import MachineError
from longlook.provision.cargo import verify

FILES = {"Cargo.toml": b"[package]", "src/lib.rs": b"pub fn answer() -> u8 { 42 }"}
INDEX = "index.example-0123"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A cargo home with one crate, and the lock file of a program beside it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, data in FILES.items():
            member = tarfile.TarInfo(f"answer-1.0.0/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
            (unpacked(tmp_path) / name).parent.mkdir(parents=True, exist_ok=True)
            (unpacked(tmp_path) / name).write_bytes(data)
    (unpacked(tmp_path) / ".cargo-ok").write_text('{"v":1}')
    archive_of(tmp_path).parent.mkdir(parents=True)
    archive_of(tmp_path).write_bytes(packed.getvalue())
    digest = hashlib.sha256(packed.getvalue()).hexdigest()
    own = '[[package]]\nname = "adapter"\nversion = "0.1.0"\n'
    (tmp_path / "Cargo.lock").write_text(
        f'{own}[[package]]\nname = "answer"\nversion = "1.0.0"\nchecksum = "{digest}"\n'
        '[[package]]\nname = "elsewhere"\nversion = "2.0.0"\nchecksum = "00"\n'
    )
    return tmp_path


def unpacked(home: Path) -> Path:
    return home / "registry" / "src" / INDEX / "answer-1.0.0"


def archive_of(home: Path) -> Path:
    return home / "registry" / "cache" / INDEX / "answer-1.0.0.crate"


def test_a_crate_as_it_was_packed_is_sound_and_one_that_is_not_there_is_cargo_s(home: Path) -> None:
    verify(home / "Cargo.lock", home)
    verify(home / "Cargo.lock", home / "none")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda home: (unpacked(home) / "src/lib.rs").write_bytes(b"pub fn a() {}"),
            "src/lib.rs is not",
        ),
        (lambda home: (unpacked(home) / "build.rs").write_bytes(b"fn main() {}"), "build.rs is not as it was packed"),
        (lambda home: (unpacked(home) / "Cargo.toml").unlink(), "Cargo.toml is not as it was packed"),
        (lambda home: archive_of(home).write_bytes(archive_of(home).read_bytes() + b"x"), "has another digest"),
        (lambda home: archive_of(home).unlink(), "is missing, so that nothing vouches for"),
    ],
    ids=["changed", "added", "removed", "archive", "no archive"],
)
def test_a_crate_that_differs_is_named_with_what_to_remove(
    home: Path, change: Callable[[Path], object], reason: str
) -> None:
    change(home)
    with pytest.raises(MachineError, match=reason) as error:
        verify(home / "Cargo.lock", home)
    assert "answer-1.0.0" in error.value.message
    assert str(unpacked(home)) in (error.value.hint or "")
