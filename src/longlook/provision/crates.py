"""Whether the crates that cargo has unpacked are those of a lock file.

Cargo compares an archive with its digest when it downloads it, and takes what was once unpacked as it is.
"""

import gzip
import hashlib
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from longlook.core.errors import MachineError

_UNPACKED = ".cargo-ok"
"""A file of cargo's own in each unpacked crate."""
_DAMAGE = (OSError, EOFError, tarfile.TarError, gzip.BadGzipFile)


def verify(lock: Path, cargo_home: Path) -> None:
    """Raise MachineError for a crate of a lock file that is unpacked and differs from the archive with its digest.

    What is not unpacked yet, cargo downloads or unpacks itself.
    """
    for package in tomllib.loads(lock.read_text()).get("package", ()):
        if (digest := package.get("checksum")) is None:
            continue
        name = f"{package['name']}-{package['version']}"
        for unpacked in sorted((cargo_home / "registry" / "src").glob(f"*/{name}")):
            archive = cargo_home / "registry" / "cache" / unpacked.parent.name / f"{name}.crate"
            if (wrong := _wrong(archive, digest, unpacked)) is not None:
                raise MachineError(
                    f"the crate {name}, from which a stack would be built, is not that of {lock.name}: {wrong}",
                    f"rm -rf {unpacked} {archive}, and cargo fetches it anew",
                )


def _wrong(archive: Path, digest: str, unpacked: Path) -> str | None:
    """Return what differs, None where nothing does."""
    if not archive.is_file():
        return f"{archive} is missing, so that nothing vouches for {unpacked}"
    if hashlib.sha256(archive.read_bytes()).hexdigest() != digest:
        return f"{archive} has another digest"
    try:
        packed = dict(_packed(archive))
        found = {str(path.relative_to(unpacked)): path for path in unpacked.rglob("*") if not path.is_dir()}
        for name in sorted((packed.keys() | found.keys()) - {_UNPACKED}):
            path = found.get(name)
            if path is None or name not in packed or path.is_symlink() or path.read_bytes() != packed[name]:
                return f"{unpacked / name} is not as it was packed"
    except _DAMAGE as error:
        return f"{unpacked} cannot be compared with its archive: {error}"
    return None


def _packed(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an archive by their path below its one folder."""
    with tarfile.open(archive, "r:gz") as members:
        for member in members:
            if member.isfile() and (file := members.extractfile(member)) is not None:
                yield member.name.partition("/")[2], file.read()
