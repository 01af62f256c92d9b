"""Fetches the encoder of videos, ffmpeg with x264, from a Python package whose digest is pinned. No root is needed.

Debian's ffmpeg changes with security updates, and with it the bytes that it makes; this file never changes.
"""

import shutil
from pathlib import Path

from longlook.core import Program, cache_dir, file_digest
from longlook.provision.build_cache import filled
from longlook.provision.python import unpack

VERSION = "7.0.2"
SHA256 = "e7e7fb30477f717e6f55f9180a70386c62677ef8a4d4d1a5d948f4098aa3eb99"
"""The digest of the program, which is linked statically, for x86-64."""

LICENCE = "GPL-3.0-or-later"
"""The licence of the program, which is configured with --enable-gpl and --enable-version3; no file that it makes is
under it.
"""

PACKAGE = "imageio-ffmpeg"
PACKAGE_VERSION = "0.6.0"
PACKAGE_SHA256 = "c7e46fcec401dd990405049d2e2f475e2b397779df2519b544b8aab515195282"  # 29.5 MB
PACKAGE_LICENCE = "BSD-2-Clause"
"""The Python package that brings the program, and what its own sources are under."""

X264_VERSION = "0.164.3191"
X264_LICENCE = "GPL-2.0-or-later"
"""The licence of the part of the program that encodes, which names itself in its videos (core 164 r3191)."""


def encoder() -> Program:
    """Return ffmpeg from the cache, or fetched; raise MachineError if the package index lacks the pinned file."""
    folder = filled(_folder(), _is_intact, _fetch)
    return Program(str(folder / "ffmpeg"), SHA256)


def is_fetched() -> bool:
    """Return whether `encoder` has nothing to fetch."""
    return _is_intact(_folder())


def _folder() -> Path:
    return cache_dir() / "encoder" / f"ffmpeg-{VERSION}"


def _is_intact(folder: Path) -> bool:
    try:
        return file_digest(folder / "ffmpeg") == SHA256
    except OSError:
        return False


def _fetch(into: Path) -> None:
    work = unpack(f"{PACKAGE}=={PACKAGE_VERSION} --hash=sha256:{PACKAGE_SHA256}", into)
    (program,) = (work / "imageio_ffmpeg" / "binaries").glob("ffmpeg-*")
    shutil.move(program, into / "ffmpeg")
    (into / "ffmpeg").chmod(0o755)
    shutil.rmtree(work)
