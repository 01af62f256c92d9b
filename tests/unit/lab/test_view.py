"""What programs of a guest may reach in folders of the host that only their owner may enter."""

from pathlib import Path

from longlook.lab.linux.view import closed_folders, lead_through


def test_a_closed_folder_leads_to_what_is_needed_and_to_nothing_else(tmp_path: Path) -> None:
    home, needed = tmp_path / "home", tmp_path / "home" / "cache" / "longlook"
    needed.mkdir(parents=True)
    (home / "secrets").mkdir()
    (home / ".gitconfig").write_text("token")
    (home / "link").symlink_to("/etc")
    (home / "cache" / "other").write_text("x")
    for folder in (home, home / "cache"):
        folder.chmod(0o700)
    closed = {folder: names for folder, names in closed_folders([str(needed)]).items() if folder.startswith(str(home))}
    assert closed == {str(home): ("cache",), str(home / "cache"): ("longlook",)}
    lead_through(closed, Path("/"))
    assert sorted(path.name for path in home.iterdir()) == ["cache", "secrets"]
    assert (home / "secrets").stat().st_mode & 0o777 == 0o700
    assert [path.name for path in (home / "cache").iterdir()] == ["longlook"]
    assert all(folder.stat().st_mode & 0o777 == 0o701 for folder in (home, home / "cache"))


def test_an_open_folder_is_none_of_them(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    assert str(tmp_path / "open") not in closed_folders([str(tmp_path / "open" / "file")])
