"""A mirror of Debian for tests: programs of apt that answer from files of a folder."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

CONTENT = b"a package of sources"

APT_GET = """\
#!/bin/sh
echo "apt-get $*" >> "$FAKE/calls"
case "$*" in
*update*) exit "$(cat "$FAKE/update" 2>/dev/null || echo 0)" ;;
*--print-uris*) for what; do :; done; echo "'http://mirror.invalid/listed/$what' linux.deb 20 SHA256:00" ;;
esac
"""

APT_CACHE = """\
#!/bin/sh
for what; do :; done
case "$*" in
*pkgnames*) cat "$FAKE/names" 2>/dev/null ;;
*show*) cat "$FAKE/index/$what" 2>/dev/null ;;
esac
"""

APT_HELPER = """\
#!/bin/sh
echo "apt-helper $*" >> "$FAKE/calls"
for part; do case "$part" in *.part) out=$part ;; http*) from=$part ;; esac; done
if [ -e "$FAKE/hang-up" ]; then printf 'a package' > "$out"; echo 'E: Could not connect'; exit 100; fi
case "$from" in *invalid/debian/pool*)
    if [ -e "$FAKE/gone" ]; then echo "E: Failed to fetch $from  404  Not Found"; exit 100; fi ;;
esac
had=$(wc -c < "$out" 2>/dev/null || echo 0)
tail -c +$((had + 1)) "$FAKE/content" >> "$out"
echo dlstatus:1:100.0:Retrieving
"""


@dataclass(frozen=True)
class FakeMirror:
    """A mirror: `content` is the file of every package; `gone` (a file) says that its archive holds none unlisted."""

    folder: Path

    def lists(self, name: str, version: str, *, newest: bool = True, sha256: str | None = None) -> None:
        """Put a version into the index."""
        digest = sha256 or hashlib.sha256(CONTENT).hexdigest()
        text = (
            f"Package: {name}\nVersion: {version}\nArchitecture: all\nDescription: sources\n of Linux\n"
            f"Size: {len(CONTENT)}\nSHA256: {digest}\nFilename: pool/{name}_{version}_all.deb\n\n"
        )
        for wanted in (f"{name}={version}", *([name] if newest else [])):
            (self.folder / "index" / wanted).write_text(text)

    def calls(self) -> str:
        """Return the calls so far, a line each."""
        return (self.folder / "calls").read_text()


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeMirror:
    folder = tmp_path / "fake"
    (folder / "index").mkdir(parents=True)
    for name, text in {"apt-get": APT_GET, "apt-cache": APT_CACHE, "apt-helper": APT_HELPER}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    for name in ("dpkg-deb", "dpkg-query"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    (folder / "content").write_bytes(CONTENT)
    (folder / "calls").touch()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE", str(folder))
    return FakeMirror(folder)
