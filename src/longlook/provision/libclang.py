"""Fetches libclang, with which build scripts of crates read headers of C, from a Python package of a pinned digest.

The crate `bindgen` loads it while a program is compiled: crates with BoringSSL need it. This one needs no root, and is
the same on every machine, so that the machine's own is never asked. Standard library only.
"""

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from longlook.core import MachineError, cache_dir, content_hash, file_digest
from longlook.provision.build_cache import filled
from longlook.provision.python import unpack

PACKAGE, VERSION = "libclang", "18.1.1"
LICENCE = "Apache-2.0 WITH LLVM-exception"
PACKAGE_SHA256 = (
    "c533091d8a3bbf7460a00cb6c1a71da93bffe148f172c7d03b1c31fbf8aa2a0b",  # x86-64, 24 MB
    "54dda940a4a0491a9d1532bf071ea3ef26e6dbaf03b5000ed94dd7174e8f9592",  # ARM 64
)
LIBRARY = "libclang.so"
NAME = f"{PACKAGE} {VERSION} {content_hash(PACKAGE_SHA256)}"
"""The library as part of the key of what is compiled with it."""

_PACKAGE = " ".join((f"{PACKAGE}=={VERSION}", *(f"--hash=sha256:{digest}" for digest in PACKAGE_SHA256)))
_DIGEST = "digest.txt"
_USER = re.compile(r'^name = "bindgen"$', re.MULTILINE)


def is_needed(lock: str) -> bool:
    """Return whether the crates of a lock file, given as text, are compiled with libclang."""
    return _USER.search(lock) is not None


def environment() -> Mapping[str, str]:
    """Return the variables by which `bindgen` finds the library, and the headers that belong to the C compiler.

    The library is fetched if the cache lacks it. Raise MachineError if the package index lacks the pinned file.
    """
    place = filled(folder(), _is_intact, _fetch)
    headers = subprocess.run(("cc", "-print-file-name=include"), capture_output=True, text=True, check=False)
    if headers.returncode != 0:
        raise MachineError(f"cc does not name its headers: {headers.stderr.strip()}", "sudo apt-get install gcc g++")
    return {"LIBCLANG_PATH": str(place), "BINDGEN_EXTRA_CLANG_ARGS": f"-isystem {headers.stdout.strip()}"}


def folder() -> Path:
    """Return where the library is, or would be."""
    return cache_dir() / "libclang" / f"{VERSION}-{content_hash(_PACKAGE)}"


def is_fetched() -> bool:
    """Return whether `environment` has nothing to fetch."""
    return _is_intact(folder())


def _is_intact(place: Path) -> bool:
    try:
        return file_digest(place / LIBRARY) == (place / _DIGEST).read_text()
    except OSError:
        return False


def _fetch(into: Path) -> None:
    work = unpack(_PACKAGE, into)
    shutil.move(work / "clang" / "native" / LIBRARY, into / LIBRARY)
    shutil.rmtree(work)
    (into / _DIGEST).write_text(file_digest(into / LIBRARY))
