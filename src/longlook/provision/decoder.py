"""Fetches the decoder of videos for Firefox, FFmpeg's libavcodec, from a Python package whose digest is pinned.

Firefox decodes H.264 by a libavcodec of the system, and many systems have none. This one needs no root, and is the same
on every machine. Standard library only.
"""

import shutil
import sys
from pathlib import Path

from longlook.core.codec import content_hash
from longlook.core.digests import file_digest
from longlook.core.paths import cache_dir
from longlook.provision.build_cache import compile_with
from longlook.provision.cache_folder import filled
from longlook.provision.python import environment_of_tools, find_uv

VERSION = "7.1"
"""Of FFmpeg, whose libavcodec.so.61 Firefox loads since 128. The next has another name, which older ones lack."""

LIBRARY = "libavcodec.so.61"

_PACKAGE = "av==15.1.0 --hash=sha256:c8ef597087db560514617143532b1fafc4825ebb2dda9a22418f548b113a0cc7"  # 38 MB
_FILE_FOR = ("--python-version", "3.11", "--python-platform", "x86_64-manylinux_2_28")
"""Which file of the package is pinned. Its libraries alone are used, by no Python."""

_DIGESTS = "digests.txt"
_NOT_NEEDED = ("libavdevice", "libavfilter", "libavformat")


def decoder() -> Path:
    """Return the folder with libavcodec and what it needs: from the cache, or fetched.

    Raise MachineError where the package index lacks the pinned file.
    """
    return filled(folder(), _is_intact, _fetch)


def folder() -> Path:
    """Return where the decoder is, or would be."""
    return cache_dir() / "decoder" / f"ffmpeg-{VERSION}-{content_hash([_PACKAGE, *_FILE_FOR])}"


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
    work, lock = into / "work", into / "lock.txt"
    lock.write_text(_PACKAGE + "\n")
    install = (find_uv(), "pip", "install", "--quiet", "--target", str(work), "--no-deps", "--only-binary", ":all:")
    compile_with((*install, *_FILE_FOR, "--require-hashes", "-r", str(lock)), into, environment_of_tools())
    for library in sorted((work / "av.libs").iterdir()):
        if not library.name.startswith(_NOT_NEEDED):
            name = LIBRARY if library.name.startswith("libavcodec") else library.name
            shutil.move(library, into / name)
    shutil.rmtree(work)
    (into / _DIGESTS).write_text(_digests(into))
    probe = "import ctypes, sys; assert ctypes.CDLL(sys.argv[1]).avcodec_find_decoder_by_name(b'h264')"
    command = (sys.executable, "-S", "-c", probe, LIBRARY)
    compile_with(command, into, {**environment_of_tools(), "LD_LIBRARY_PATH": str(into)})
