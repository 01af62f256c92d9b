"""Fetches the encoder of videos, ffmpeg with x264, from a Python package whose digest is pinned. No root is needed.

Debian's ffmpeg changes with security updates, and with it the bytes that it makes; this file never changes.
"""

import shutil
from pathlib import Path

from longlook.core.digests import file_digest
from longlook.core.job import Program
from longlook.core.paths import cache_dir
from longlook.provision.build_cache import compile_with
from longlook.provision.cache_folder import filled
from longlook.provision.python import environment_of_tools, find_uv

VERSION = "7.0.2"
SHA256 = "e7e7fb30477f717e6f55f9180a70386c62677ef8a4d4d1a5d948f4098aa3eb99"
"""Of the program, which is linked statically, for x86-64."""

_PACKAGE = (
    "imageio-ffmpeg==0.6.0 --hash=sha256:c7e46fcec401dd990405049d2e2f475e2b397779df2519b544b8aab515195282"  # 29.5 MB
)


def encoder() -> Program:
    """Return ffmpeg from the cache, or fetched; raise MachineError where the package index lacks the pinned file."""
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
    work, lock = into / "work", into / "lock.txt"
    lock.write_text(_PACKAGE + "\n")
    install = (find_uv(), "pip", "install", "--quiet", "--target", str(work), "--no-deps", "--only-binary", ":all:")
    compile_with((*install, "--require-hashes", "-r", str(lock)), into, environment_of_tools())
    (program,) = (work / "imageio_ffmpeg" / "binaries").glob("ffmpeg-*")
    shutil.move(program, into / "ffmpeg")
    (into / "ffmpeg").chmod(0o755)
    shutil.rmtree(work)
