"""Opening files that others made: what is refused, and that nothing is waited for."""

import os
import subprocess
from pathlib import Path

import pytest

from longlook.core import files
from longlook.core.files import UnfitFileError
from tests.support.swapping import swapping


def test_a_regular_file_is_read_and_a_missing_one_is_missing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text('{"a": "ü"}')
    assert files.read_text(tmp_path / "file") == '{"a": "ü"}'
    assert files.read_json(tmp_path / "file") == {"a": "ü"}
    assert files.regular(tmp_path / "file") == tmp_path / "file"
    for read in (files.read_bytes, files.regular, files.digest):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "absent")


def test_pipes_links_devices_and_folders_are_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    cases = {tmp_path / "link": "a link, and", tmp_path / "pipe": "a named pipe", Path("/dev/zero"): "a device"}
    for path, what in {**cases, tmp_path: "a folder"}.items():
        for read in (files.read_bytes, files.regular, files.digest):
            with pytest.raises(UnfitFileError, match=rf"{path} is not read: it is {what}") as caught:
                read(path)
            assert caught.value.strerror.startswith(f"it is {what}")
            assert (caught.value.exit_code, bool(caught.value.hint)) == (2, True)
        assert not files.is_regular(path)


def test_a_link_that_took_the_place_of_a_file_meanwhile_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("file")
    about = (tmp_path / "file").stat()
    monkeypatch.setattr(Path, "lstat", lambda _path: about)
    with pytest.raises(UnfitFileError, match="links are not followed"):
        files.open_regular(tmp_path / "link")


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(files.LARGEST_STREAMED_BYTES + 1)
    for read in (files.read_bytes, files.regular, files.digest):
        with pytest.raises(UnfitFileError, match="bytes long; allowed: at most"):
            read(tmp_path / "sparse")


def test_a_file_that_the_user_names_may_be_a_link_and_is_not_made_up_by_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    (tmp_path / "link").symlink_to("file")
    assert files.read_named(tmp_path / "link") == b"text"
    for path in (Path("/proc/self/environ"), Path("/proc/kmsg")):
        with pytest.raises(UnfitFileError, match="empty, or made up by the kernel"):
            files.read_named(path)
    (tmp_path / "loop").symlink_to("loop")
    for path in (tmp_path / "loop", Path("/dev/zero")):
        with pytest.raises(UnfitFileError):
            files.read_named(path)


def test_what_is_below_a_folder_is_listed_without_following_links(tmp_path: Path) -> None:
    for name in ("trials/1/deep", "report"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_text("")
    (tmp_path / "report" / "loop").symlink_to(tmp_path)
    found = {"report/file": None, "report/loop": "a link, and links are not followed"}
    assert dict(files.below(tmp_path)) == {**found, "trials/1/deep/file": None}
    assert dict(files.below(tmp_path, ("trials",))) == found


def test_a_tree_of_any_depth_is_listed(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_PATH)
    for _ in range(1500):  # deeper than calls of functions go
        os.mkdir("a", dir_fd=here)
        below = os.open("a", os.O_PATH, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    try:
        assert len(list(files.below(tmp_path))) == 1
    finally:
        subprocess.run(["rm", "-rf", tmp_path / "a"], check=True)  # which Python's own functions cannot


@pytest.fixture(params=["openat2", "step by step"])
def opening(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to open a file below a folder: that of the kernel, and that for kernels which have none."""
    if request.param != "openat2":
        monkeypatch.setattr(files, "_open_at", files._open_step_by_step)


@pytest.mark.usefixtures("opening")
def test_what_lies_below_a_folder_is_read_and_no_part_of_its_path_is_a_link(tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "a" / "b").mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (top / "a" / "b" / "file").write_text("text")
    (top / "link").symlink_to(top / "a")
    (top / "out").symlink_to(tmp_path)
    (top / "a" / "last").symlink_to("b/file")
    os.mkfifo(top / "a" / "pipe")
    with files.open_below(top, "a/b/file") as file:
        assert file.read() == b"text"
    for name in ("link/b/file", "out/secret", "a/last"):
        with pytest.raises(UnfitFileError, match="links are not followed"):
            files.open_below(top, name)
    for name in ("../secret", "a/../../secret", str(tmp_path / "secret"), ""):
        with pytest.raises(UnfitFileError, match="not below its folder"):
            files.open_below(top, name)
    for name, what in (("a/pipe", "a named pipe"), ("a/b", "a folder")):
        with pytest.raises(UnfitFileError, match=what):
            files.open_below(top, name)
    for name, error in (("a/none", FileNotFoundError), ("a/b/file/x", NotADirectoryError)):
        with pytest.raises(error):
            files.open_below(top, name)


def test_without_the_call_of_the_kernel_folders_are_opened_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("text")
    monkeypatch.setattr(files, "_OPENAT2", 1_000_000)  # no machine has a call of that number
    with files.open_below(tmp_path, "a/file") as file:
        assert file.read() == b"text"


@pytest.mark.usefixtures("opening")
def test_a_folder_that_a_program_swaps_for_a_link_leads_nowhere_else(tmp_path: Path) -> None:
    top, elsewhere = tmp_path / "top", tmp_path / "elsewhere"
    for folder, text in ((top / "here", "own"), (elsewhere, "secret")):
        folder.mkdir(parents=True)
        (folder / "trace.qlog").write_text(text)
    (top / "link-here").symlink_to(elsewhere)
    found = set()
    with swapping(top, "here"):
        for _ in range(1000):
            try:
                with files.open_below(top, "here/trace.qlog") as file:
                    found.add(file.read())
            except OSError:
                continue
    assert found <= {b"own"}
