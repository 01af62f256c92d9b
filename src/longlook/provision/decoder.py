"""Fetches the decoder of videos for Firefox, FFmpeg's libavcodec, from a Python package whose digest is pinned.

Firefox decodes H.264 by a libavcodec of the system, and many systems have none. This one needs no root, and is the same
on every machine. Standard library only.
"""

import mmap
import shutil
import sys
from pathlib import Path

from longlook.core import MachineError, cache_dir, content_hash, file_digest
from longlook.provision import build_steps
from longlook.provision.build_cache import filled
from longlook.provision.python import environment_of_tools, unpack

VERSION = "7.1"
"""The version of FFmpeg. Firefox has looked for the name of its libavcodec since 2024; only newer Firefoxes know newer
names.
"""

LIBRARY = "libavcodec.so.61"

LICENCE = "LGPL-3.0-or-later"
"""As the library itself reports it (`avcodec_license`)."""

PACKAGE, PACKAGE_VERSION = "av", "15.1.0"
PACKAGE_SHA256 = "c8ef597087db560514617143532b1fafc4825ebb2dda9a22418f548b113a0cc7"  # 38 MB
PACKAGE_LICENCE = "BSD-3-Clause"
_PACKAGE = f"{PACKAGE}=={PACKAGE_VERSION} --hash=sha256:{PACKAGE_SHA256}"
_FILE_FOR = ("--python-version", "3.11", "--python-platform", "x86_64-manylinux_2_28")
"""Which file of the package is pinned. Its libraries alone are used, by no Python."""

_DIGESTS = "digests.txt"
_NOT_NEEDED = ("libavdevice", "libavfilter", "libavformat")


def decoder() -> Path:
    """Return the folder with libavcodec and what it needs: from the cache, or fetched.

    Raise MachineError if the package index lacks the pinned file.
    """
    return filled(folder(), _is_intact, _fetch)


def folder() -> Path:
    """Return where the decoder is, or would be."""
    return cache_dir() / "decoder" / f"ffmpeg-{VERSION}-{content_hash([_PACKAGE, *_FILE_FOR])}"


def check(browser: Path) -> None:
    """Raise MachineError if a Firefox would not load the decoder, or it is not fetched yet."""
    code = browser.with_name("libxul.so")
    try:
        with code.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            known = text.find(f"{LIBRARY}\0".encode()) >= 0
    except (OSError, ValueError) as error:
        raise MachineError(f"{code} cannot be read: {error}", "set LONGLOOK_FIREFOX to a Firefox binary") from error
    if not known:
        raise MachineError(f"this Firefox does not look for {LIBRARY}", "install a newer one, as Debian's firefox-esr")
    if not is_fetched():
        raise MachineError(
            f"FFmpeg {VERSION}'s {LIBRARY} was not yet fetched",
            "the first study with Firefox's knob player fetches it; that needs uv (make build) and an index of "
            "Python packages",
        )


def is_fetched() -> bool:
    """Return whether `decoder` has nothing to fetch."""
    return _is_intact(folder())


def _is_intact(place: Path) -> bool:
    try:
        return (place / LIBRARY).is_file() and _digests(place) == (place / _DIGESTS).read_text()
    except OSError:
        return False


def _digests(place: Path) -> str:
    return "".join(f"{file_digest(each)}  {each.name}\n" for each in sorted(place.glob("*.so*")))


def _fetch(into: Path) -> None:
    work = unpack(_PACKAGE, into, *_FILE_FOR)
    for library in sorted((work / "av.libs").iterdir()):
        if not library.name.startswith(_NOT_NEEDED):
            name = LIBRARY if library.name.startswith("libavcodec") else library.name
            shutil.move(library, into / name)
    shutil.rmtree(work)
    (into / _DIGESTS).write_text(_digests(into))
    probe = "import ctypes, sys; assert ctypes.CDLL(sys.argv[1]).avcodec_find_decoder_by_name(b'h264')"
    command = (sys.executable, "-S", "-c", probe, LIBRARY)
    build_steps.run(command, cwd=into, env={**environment_of_tools(), "LD_LIBRARY_PATH": str(into)})
