"""Files that a client left: those that were asked for are compared, and nothing else is opened or followed."""

import os
from hashlib import sha256
from pathlib import Path

from longlook.core.job import ExpectedAnswer
from longlook.lab.observations import LeftFile
from longlook.lab.results import take_results

BODY = b"the right bytes"
DIGEST = f"sha256:{sha256(BODY).hexdigest()}"
EXPECTED = {"/a.bin": ExpectedAnswer(len(BODY), DIGEST)}
MISSING = LeftFile(problem="the client left no such file")


def taken(folder: Path) -> LeftFile:
    return take_results(folder, EXPECTED)["/a.bin"]


def test_a_file_has_its_size_and_its_digest(tmp_path: Path) -> None:
    assert taken(tmp_path) == MISSING
    (tmp_path / "a.bin").write_bytes(BODY)
    (tmp_path / "b.bin").write_bytes(b"nobody asked for it")
    assert take_results(tmp_path, EXPECTED) == {"/a.bin": LeftFile(len(BODY), DIGEST)}
    (tmp_path / "a.bin").write_bytes(BODY[::-1])
    wrong = taken(tmp_path)
    assert wrong.bytes == len(BODY)
    assert wrong.digest != DIGEST


def test_nothing_of_a_file_with_a_wrong_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(BODY[:-1])
    assert taken(tmp_path) == LeftFile(len(BODY) - 1)
    os.truncate(tmp_path / "a.bin", 1 << 32)
    assert taken(tmp_path) == LeftFile(1 << 32)
    os.truncate(tmp_path / "a.bin", 1 << 40)
    assert "can be read" in str(taken(tmp_path).problem)


def test_no_link_is_followed_and_nothing_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(BODY)
    folder = tmp_path / "results"
    folder.mkdir()
    for make in (
        lambda place: place.symlink_to("../secret"),
        lambda place: place.symlink_to(tmp_path / "secret"),
        os.mkfifo,
        Path.mkdir,
    ):
        make(folder / "a.bin")
        found = taken(folder)
        assert found.bytes is None, found
        assert "the client left no file that can be read" in str(found.problem)
        (folder / "a.bin").rmdir() if (folder / "a.bin").is_dir() else (folder / "a.bin").unlink()
    (folder / "i").symlink_to(tmp_path)
    below = take_results(folder, {"/i/secret": EXPECTED["/a.bin"]})["/i/secret"]
    assert "links are not followed" in str(below.problem)
