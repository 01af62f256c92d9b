"""Fetches libraries and programs from packages of Debian, whatever the machine has installed, without root."""

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from longlook.core.errors import MachineError

if TYPE_CHECKING:
    from longlook.provision.apt import Package

_HINT = "this needs apt, a mirror of Debian among the machine's package sources, and the network once"
_LIBRARIES = ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")


def fetch_libraries(listed: Path, suite: str, work: Path, into: Path) -> None:
    """Put the libraries that a file lists (`PACKAGE SONAME` lines) into the new folder `into`, as `NN-SONAME` in order.

    All are of one release of Debian (`suite`), and apt verifies them with its keyring; `work` is apt's temporary
    folder. Raise MachineError where they cannot be fetched.
    """
    libraries = listed_libraries(listed)
    root = _unpacked([name for name, _ in libraries], suite, work, listed.parent.parent.name)
    into.mkdir()
    for number, (name, soname) in enumerate(libraries):
        shutil.copy(_library(root, name, soname), into / f"{number:02d}-{soname}")


def fetch_packages(listed: Path, suite: str, work: Path, into: Path) -> None:
    """Unpack the packages that a file lists (one per line) into a folder, without their documentation.

    Release, verification, `work` and errors are as for `fetch_libraries`; the machine's own packages stay as they are.
    """
    names = [name for line in _lines(listed) for name in line]
    shutil.move(_unpacked(names, suite, work, listed.parent.parent.name), into)
    shutil.rmtree(into / "usr" / "share", ignore_errors=True)


def _unpacked(names: list[str], suite: str, work: Path, stack: str) -> Path:
    """Fetch and unpack packages; return the folder below `work` that holds their files."""
    from longlook.provision import apt  # not at the top: a guest reads the declarations of stacks

    for program in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(program) is None:
            raise MachineError(f"{program} is missing, and {stack} comes from Debian", _HINT)
    mirror = apt.choose_mirror(apt.machine_entries(Path("/etc/apt")), None)
    if mirror is None:
        raise MachineError("this machine's package sources name no mirror of Debian", _HINT)
    work.mkdir()
    try:
        archive = apt.PrivateApt(work, mirror.uri, suite, apt.archive_keyring(), work / "log")
        archive.update()
        for name in names:
            file = archive.download(_found(archive.show(name), name, suite), work / "packages", lambda _text: None)
            _unpack(file, work / "root")
    except MachineError as error:
        raise MachineError(error.message, _HINT) from error
    return work / "root"


def listed_libraries(listed: Path) -> list[tuple[str, str]]:
    """Return (package, soname) for each line that is not a comment."""
    return [(package, soname) for package, soname in _lines(listed)]


def _lines(listed: Path) -> list[list[str]]:
    return [line.split() for line in listed.read_text().splitlines() if not line.startswith("#")]


def _found(package: "Package | None", name: str, suite: str) -> "Package":
    if package is None:
        raise MachineError(f"Debian {suite} has no package {name}", _HINT)
    return package


def _unpack(package: Path, root: Path) -> None:
    done = subprocess.run(("dpkg-deb", "-x", str(package), str(root)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MachineError(f"{package.name} cannot be unpacked: {done.stderr.strip()}", _HINT)


def _library(root: Path, package: str, soname: str) -> Path:
    for folder in _LIBRARIES:
        if (root / folder / soname).exists():
            return root / folder / soname
    raise MachineError(f"{package} does not hold {soname}", _HINT)
