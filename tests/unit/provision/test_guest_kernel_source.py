import hashlib
import os
import stat
from pathlib import Path

import pytest

from longlook.core.errors import MachineError
from longlook.provision.apt import Mirror
from longlook.provision.guest_kernel import source
from longlook.provision.guest_kernel.source import dependencies, fetch_source, newest, tools_environment

CONTENT = b"a package of sources"

APT_GET = """\
#!/bin/sh
echo "apt-get $*" >> "$FAKE/calls"
case "$*" in
*update*) exit "$(cat "$FAKE/update" 2>/dev/null || echo 0)" ;;
*--print-uris*) echo "'http://mirror.invalid/pool/linux.deb' linux.deb 20 SHA256:00" ;;
esac
"""

APT_CACHE = """\
#!/bin/sh
case "$*" in
*pkgnames*) printf 'linux-source-7.1\\nlinux-source-7.10\\nlinux-source-7.9\\nlinux-source-7.9-rt\\n' ;;
*show*linux-source-7.10) cat "$FAKE/stanza" ;;
esac
"""

APT_HELPER = """\
#!/bin/sh
echo "apt-helper $*" >> "$FAKE/calls"
for part; do case "$part" in *.part) out=$part ;; esac; done
if [ -e "$FAKE/hang-up" ]; then printf 'a package' > "$out"; echo 'E: Could not connect'; exit 100; fi
had=$(wc -c < "$out" 2>/dev/null || echo 0)
tail -c +$((had + 1)) "$FAKE/content" >> "$out"
echo dlstatus:1:100.0:Retrieving
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs of apt that answer from files of this folder, and note in `calls` how they were called."""
    folder = tmp_path / "fake"
    folder.mkdir()
    for name, text in {"apt-get": APT_GET, "apt-cache": APT_CACHE, "apt-helper": APT_HELPER}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    for name in ("dpkg-deb", "dpkg-query"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    (folder / "content").write_bytes(CONTENT)
    (folder / "stanza").write_text(stanza(hashlib.sha256(CONTENT).hexdigest()))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE", str(folder))
    monkeypatch.setattr(source, "machine_mirror", lambda: Mirror("http://mirror.invalid/debian", "trixie"))
    monkeypatch.setattr(source, "archive_keyring", lambda: "/k.gpg")
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def stanza(sha256: str) -> str:
    return (
        "Package: linux-source-7.10\nVersion: 1:7.10.2-1\nArchitecture: all\n"
        f"Description: sources\n of Linux\nSize: {len(CONTENT)}\nSHA256: {sha256}\n\n"
    )


def fetch(work: Path) -> Path:
    return fetch_source(work, work / "build.log", lambda _text: None).file


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
    with pytest.raises(MachineError, match="signed index"):
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
    (fake / "apt-cache").write_text("#!/bin/sh\necho linux-source-6.1\n")
    with pytest.raises(MachineError, match=r"no linux-source-7\.2 or newer"):
        fetch(work)


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
