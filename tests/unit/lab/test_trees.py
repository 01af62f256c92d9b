"""Trees that programs leave: read to a depth, and removed whatever their depth."""

import os
from pathlib import Path
from typing import Any

from longlook.core.files import remove_tree
from longlook.lab.linux.trees import entries


def test_everything_is_found_in_order_down_to_a_depth(tmp_path: Path) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c" / "file").touch()
    (tmp_path / "z").symlink_to("/")
    found = [(entry.path, entry.is_file, entry.too_deep) for entry in entries(tmp_path, 2)]
    assert found == [("a", False, False), ("a/b", False, True), ("z", False, False)]


def test_a_tree_deeper_than_any_path_is_removed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("directory", dir_fd=here)
        above, here = here, os.open("directory", os.O_RDONLY, dir_fd=here)
        os.close(above)
    os.close(os.open("file", os.O_CREAT, dir_fd=here))
    os.close(here)
    (top / "wide").mkdir(mode=0)
    remove_tree(top)
    assert not top.exists()
    remove_tree(top)


def test_a_link_to_a_folder_is_not_entered_also_where_a_folder_was_seen(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").touch()
    top = tmp_path / "top"
    (top / "folder").mkdir(parents=True)
    (top / "link").symlink_to(tmp_path / "outside")
    about, lstat = (top / "folder").lstat(), os.lstat
    monkeypatch.setattr(os, "lstat", lambda name, **at: about if name == "link" else lstat(name, **at))
    assert [entry.path for entry in entries(top, 9)] == ["folder", "link"]
