"""The pinned players of videos: an archive with another digest is refused, and the folder depends on the pins."""

from pathlib import Path

import pytest

from longlook.core.errors import MachineError
from longlook.provision import players


def test_package_with_other_bytes_is_refused(tmp_path: Path) -> None:
    package = tmp_path / "shaka-player-5.2.12.tgz"
    package.write_bytes(b"not the package")
    with pytest.raises(MachineError, match=r"shaka-player 5\.2\.12 has the SHA-512"):
        players._check(players.PLAYERS["shaka"], package)


def test_damaged_script_is_not_intact(tmp_path: Path) -> None:
    for name in players.PLAYERS:
        (tmp_path / f"{name}.js").write_text("a")
        (tmp_path / f"{name}.sha256").write_text("0" * 64)
    assert not players._is_intact(tmp_path)
