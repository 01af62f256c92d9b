import hashlib
import stat
from pathlib import Path

import pytest

from longlook.core.errors import MachineError
from longlook.provision.apt import Mirror, Package
from longlook.provision.guest_kernel import source
from longlook.provision.guest_kernel.source import dependencies, fetch_source, newest, tools_environment
from longlook.provision.pins import Taken
from tests.unit.provision.conftest import CONTENT, FakeMirror

NAME, VERSION = "linux-source-7.10", "1:7.10.2-1"
PIN = Package(
    NAME, VERSION, "all", len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), path="pool/main/l/linux/linux.deb"
)


@pytest.fixture(autouse=True)
def fake(mirror: FakeMirror, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a mirror with the pinned source and another."""
    (mirror.folder / "names").write_text("linux-source-7.1\nlinux-source-7.10\nlinux-source-7.9\nlinux-source-7.9-rt\n")
    mirror.lists(NAME, VERSION)
    monkeypatch.setattr(source, "machine_mirror", lambda: Mirror("http://mirror.invalid/debian", "trixie"))
    monkeypatch.setattr(source, "archive_keyring", lambda: "/k.gpg")
    return mirror.folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def take(work: Path, pin: Package = PIN) -> Taken:
    return fetch_source(pin, work, work / "build.log", lambda _text: None)


def fetch(work: Path) -> Path:
    return take(work).file


def test_newest_is_the_highest_number_and_not_the_last_word() -> None:
    assert newest(["linux-source-7.9", "linux-source-7.10", "linux-source-6.12", "linux-source"]) == "linux-source-7.10"
    assert newest(["linux-source-7.2"]) == "linux-source-7.2"
    assert newest(["linux-source-7.1", "linux-source-6.99"]) is None
    assert newest([]) is None


def test_dependencies_are_named_by_their_first_alternative() -> None:
    assert dependencies("libc6 (>= 2.34), m4:any, libfl2 | libfl3 (>= 1)") == ["libc6", "m4", "libfl2"]
    assert dependencies("") == []


def test_source_is_fetched_once(fake: Path, work: Path) -> None:
    file = fetch(work)
    assert file.read_bytes() == CONTENT
    assert file.name == "linux-source-7.10_1%3a7.10.2-1_all.deb"
    calls = (fake / "calls").read_text()
    assert fetch(work) == file
    assert (fake / "calls").read_text() == calls


def test_interrupted_download_goes_on(fake: Path, work: Path) -> None:
    (fake / "hang-up").touch()
    with pytest.raises(MachineError) as caught:
        fetch(work)
    assert "Could not connect" in caught.value.message
    assert "LONGLOOK_KERNEL" in (caught.value.hint or "")
    (part,) = work.rglob("*.part")
    assert part.read_bytes() == b"a package"
    (fake / "hang-up").unlink()
    assert fetch(work).read_bytes() == CONTENT
    assert not part.exists()


def test_wrong_digest_is_refused_and_not_kept(fake: Path, work: Path) -> None:
    (fake / "content").write_bytes(CONTENT.upper())
    with pytest.raises(MachineError, match="not the file with the SHA-256"):
        fetch(work)
    assert [path for path in work.rglob("*") if path.name.startswith("linux-source")] == []
    (fake / "content").write_bytes(CONTENT)
    assert fetch(work).read_bytes() == CONTENT


def test_no_network_gives_a_hint(fake: Path, work: Path) -> None:
    (fake / "update").write_text("100")
    with pytest.raises(MachineError) as caught:
        fetch(work)
    assert "needs the network" in (caught.value.hint or "")


def test_old_mirror_gives_a_hint(fake: Path, work: Path) -> None:
    (fake / "names").write_text("linux-source-6.1\n")
    (fake / "index" / f"{NAME}={VERSION}").unlink()
    (fake / "gone").touch()
    with pytest.raises(MachineError, match=r"no linux-source-7\.2 or newer"):
        fetch(work)


def test_newest_source_stands_in_where_the_pinned_is_gone(fake: Path, work: Path) -> None:
    (fake / "gone").touch()
    pin = Package("linux-source-7.2", "7.2.13-1", "all", 1, "0" * 64, path="pool/main/l/linux/linux-source-7.2.deb")
    taken = take(work, pin)
    assert taken.deviation == f"{NAME} {VERSION} instead of the pinned linux-source-7.2 7.2.13-1"
    calls = (fake / "calls").read_text()
    assert take(work, pin) == taken
    assert (fake / "calls").read_text() == calls
    assert take(work).deviation is None


def test_unpacked_tools_find_their_libraries(tmp_path: Path) -> None:
    (tmp_path / "usr" / "lib" / "x86_64-linux-gnu").mkdir(parents=True)
    (tmp_path / "usr" / "share" / "bison").mkdir(parents=True)
    (tmp_path / "usr" / "bin").mkdir()
    (tmp_path / "usr" / "bin" / "m4").touch(stat.S_IRWXU)
    environment = tools_environment(tmp_path)
    assert environment["PATH"].startswith(f"{tmp_path}/usr/bin:")
    assert environment["LD_LIBRARY_PATH"] == f"{tmp_path}/usr/lib/x86_64-linux-gnu"
    assert environment["BISON_PKGDATADIR"] == f"{tmp_path}/usr/share/bison"
    assert environment["M4"] == f"{tmp_path}/usr/bin/m4"
