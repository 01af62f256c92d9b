"""Entries of the cache as blobs: the same tree on the other side, or an error that names what differs."""

import json
from pathlib import Path

import pytest

from longlook.core.errors import InputError, MachineError
from longlook.remote.entries import Tree, digest_of, entry_of, file_tree, packed, tree_of, unpack_into


@pytest.fixture
def entry(tmp_path: Path) -> Path:
    """A program in a folder with everything that an entry may have."""
    folder = tmp_path / "entry"
    (folder / "bin").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "bin" / "program").write_bytes(b"\x7fELF" * 100)
    (folder / "bin" / "program").chmod(0o755)
    (folder / "bin" / "python").symlink_to("/usr/bin/python3")
    (folder / "notes.txt").write_text("café\n")
    with (folder / "zeros").open("wb") as file:
        file.truncate(1 << 33)  # as endless flows have: it takes no space here, and must take none there
    return folder


def blob_of(folder: Path) -> tuple[bytes, str, Tree]:
    tree = tree_of(folder)
    return packed(folder, tree), digest_of(tree), tree


def unpacked(blob: bytes, digest: str, tmp_path: Path) -> Path:
    target = tmp_path / "there"
    target.mkdir()
    unpack_into(blob, target, digest)
    return target


def test_an_entry_arrives_as_it_was(entry: Path, tmp_path: Path) -> None:
    blob, digest, tree = blob_of(entry)
    there = unpacked(blob, digest, tmp_path)
    assert tree_of(there) == tree
    assert (there / "bin" / "program").stat().st_mode & 0o777 == 0o755
    assert (there / "bin" / "python").readlink() == Path("/usr/bin/python3")
    assert (there / "zeros").stat().st_size == 1 << 33
    assert (there / "zeros").stat().st_blocks == 0
    assert len(blob) < 1 << 16


def test_one_file_is_an_entry_too(entry: Path, tmp_path: Path) -> None:
    tree = file_tree(entry / "notes.txt")
    there = unpacked(packed(entry, tree), digest_of(tree), tmp_path)
    assert [path.name for path in there.iterdir()] == ["notes.txt"]


def test_a_changed_file_is_named_by_both_digests(entry: Path, tmp_path: Path) -> None:
    _, digest, _ = blob_of(entry)
    (entry / "notes.txt").write_text("other\n")
    blob, other, _ = blob_of(entry)
    with pytest.raises(InputError, match=f"{digest} has the digest {other}"):
        unpacked(blob, digest, tmp_path)


def test_content_that_is_not_as_it_is_listed_is_found(entry: Path, tmp_path: Path) -> None:
    """A sender may list one thing and pack another."""
    tree = tree_of(entry)
    (entry / "notes.txt").write_text("other\n")
    with pytest.raises(InputError, match="has the digest"):
        unpacked(packed(entry, tree), digest_of(tree), tmp_path)


@pytest.mark.parametrize(
    "tree",
    [
        {"../out": ["file", "0" * 64]},
        {"/etc/passwd": ["file", "0" * 64]},
        {"a": ["link", "/etc"], "a/passwd": ["file", "0" * 64]},
        {"a": ["device", ""]},
        {"a\0b": ["folder", ""]},
    ],
)
def test_a_listing_that_leaves_its_folder_is_refused(tree: dict[str, list[str]], tmp_path: Path) -> None:
    listing = json.dumps(tree).encode()
    digest = digest_of({name: (kind, value) for name, (kind, value) in tree.items()})
    with pytest.raises(InputError, match="not below its folder"):
        unpacked(len(listing).to_bytes(8, "little") + listing, digest, tmp_path)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("blob", [b"", b"\xff" * 100, b"\x02\0\0\0\0\0\0\0[]"])
def test_a_damaged_blob_is_an_error(blob: bytes, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"damaged|digest"):
        unpacked(blob, "0" * 64, tmp_path)


@pytest.mark.parametrize(
    ("path", "entry"),
    [
        ("stacks/quic-go/0.65.0/7cd3/program", "stacks/quic-go/0.65.0/7cd3"),
        ("www/page-1/root", "www/page-1"),
        ("tls/ca.pem", "tls"),
        ("tls-50-runner/key.pem", "tls-50-runner"),
        ("kernel/4bb1/linux", "kernel/4bb1"),
    ],
)
def test_a_path_of_the_cache_has_an_entry(path: str, entry: str) -> None:
    assert entry_of(Path("/cache") / path, Path("/cache")) == entry


def test_a_path_outside_of_the_cache_has_none() -> None:
    assert entry_of(Path("/usr/bin/chromium"), Path("/cache")) is None


@pytest.mark.parametrize("path", ["phones/a.json", "stacks/quic-go", ""])
def test_what_nobody_knows_how_to_send_is_refused(path: str) -> None:
    with pytest.raises(MachineError, match="no kind that can be sent"):
        entry_of(Path("/cache") / path, Path("/cache"))


def test_a_pipe_is_not_sent(entry: Path) -> None:
    import os

    os.mkfifo(entry / "pipe")
    with pytest.raises(MachineError, match="is no file"):
        tree_of(entry)
