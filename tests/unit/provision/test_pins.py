"""Pinned packages of Debian: tried first, and what takes their place is said and recorded."""

import hashlib
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.errors import MachineError
from longlook.core.paths import adapters_dir, kernel_dir
from longlook.provision import pins
from longlook.provision.apt import Package, PrivateApt
from longlook.provision.debian import listed_packages, pins_of
from longlook.provision.guest_kernel.source import pinned_source
from tests.unit.provision.conftest import CONTENT, FakeMirror

PIN = Package("tool", "1.0", "all", len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), path="pool/t/tool_1.0_all.deb")


@pytest.fixture
def apt(mirror: FakeMirror, tmp_path: Path) -> PrivateApt:
    assert mirror.folder.is_dir()
    return PrivateApt(tmp_path / "apt", "http://mirror.invalid/debian", "sid", "/k.gpg", tmp_path / "log")


def fetch(apt: PrivateApt, tmp_path: Path) -> tuple[pins.Taken, list[str]]:
    said: list[str] = []
    taken = pins.fetch(apt, PIN, tmp_path / "files", said.append)
    return taken, [line for line in said if not line.startswith("downloading")]


def test_pinned_version_is_taken_though_the_index_has_a_newer(
    apt: PrivateApt, mirror: FakeMirror, tmp_path: Path
) -> None:
    mirror.lists("tool", "1.0", newest=False)
    mirror.lists("tool", "1.1")
    taken, said = fetch(apt, tmp_path)
    assert (taken.package, taken.deviation, said) == (PIN, None, [])
    assert taken.file.read_bytes() == CONTENT
    assert "instead_of" not in taken.record


def test_version_that_the_index_lost_is_taken_from_the_archive(
    apt: PrivateApt, mirror: FakeMirror, tmp_path: Path
) -> None:
    mirror.lists("tool", "1.1")
    taken, said = fetch(apt, tmp_path)
    assert (taken.package, taken.deviation, said) == (PIN, None, [])
    assert "http://mirror.invalid/debian/pool/t/tool_1.0_all.deb" in mirror.calls()


def test_newer_version_is_taken_where_the_pinned_is_gone_and_that_is_said_and_recorded(
    apt: PrivateApt, mirror: FakeMirror, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    newer = CONTENT.upper()
    (mirror.folder / "content").write_bytes(newer)
    mirror.lists("tool", "1.1", sha256=hashlib.sha256(newer).hexdigest())
    (mirror.folder / "gone").touch()
    taken, said = fetch(apt, tmp_path)
    assert said == snapshot
    assert taken.deviation == snapshot
    pins.write_record([taken], tmp_path)
    (record,) = pins.read_record(tmp_path)
    assert pins.deviation(record) == taken.deviation
    assert record["instead_of"]["sha256"] == PIN.sha256


def test_another_digest_of_the_pinned_version_is_refused(apt: PrivateApt, mirror: FakeMirror, tmp_path: Path) -> None:
    mirror.lists("tool", "1.0", sha256="0" * 64)
    with pytest.raises(MachineError, match=r"tool 1\.0 has the SHA-256 0000.* is pinned"):
        fetch(apt, tmp_path)
    assert "apt-helper" not in mirror.calls()


def test_other_contents_of_the_pinned_file_are_refused(apt: PrivateApt, mirror: FakeMirror, tmp_path: Path) -> None:
    (mirror.folder / "content").write_bytes(CONTENT.upper())
    mirror.lists("tool", "1.1")
    with pytest.raises(MachineError, match="not the file with the SHA-256"):
        fetch(apt, tmp_path)
    assert [path.name for path in (tmp_path / "files").iterdir()] == []


def test_a_network_that_fails_takes_no_newer_version(apt: PrivateApt, mirror: FakeMirror, tmp_path: Path) -> None:
    mirror.lists("tool", "1.1")
    (mirror.folder / "hang-up").touch()
    with pytest.raises(MachineError, match="Could not connect"):
        fetch(apt, tmp_path)


def test_a_mirror_without_any_version_has_nothing_to_take(apt: PrivateApt, mirror: FakeMirror, tmp_path: Path) -> None:
    (mirror.folder / "gone").touch()
    with pytest.raises(MachineError, match=r"neither tool 1\.0 nor"):
        fetch(apt, tmp_path)


def test_a_file_of_pins_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "one.lock").write_text(pins.pin_lines([PIN]))
    assert pins.read_pins(tmp_path / "one.lock") == [PIN]
    (tmp_path / "one.lock").write_text("tool 1.0\n")
    with pytest.raises(MachineError, match=r"cannot be read from .*one\.lock"):
        pins.read_pins(tmp_path / "one.lock")


def test_every_list_of_packages_is_pinned() -> None:
    lists = sorted(adapters_dir().glob("*/packages/*.txt"))
    assert len(lists) == 10
    for listed in lists:
        pinned = pins.read_pins(pins_of(listed))
        assert [pin.name for pin in pinned] == listed_packages(listed)
        assert all(len(pin.sha256) == 64 and pin.path.startswith("pool/main/") for pin in pinned)


def test_the_guest_kernel_has_one_pinned_source() -> None:
    assert pinned_source(kernel_dir()).name.startswith("linux-source-")
