"""Libraries from packages of Debian for a stack's program, whatever the machine itself has installed. No root."""

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from longlook.errors import MachineError

if TYPE_CHECKING:
    from longlook.guestkernel_apt import Package

_HINT = "this needs apt, a mirror of Debian among the machine's package sources, and the network once"
_LIBRARIES = ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")


def fetch_libraries(listed: Path, suite: str, work: Path, into: Path) -> None:
    """Put the libraries that a file lists (`PACKAGE SONAME` lines) into a folder, as `NN-SONAME` in its order.

    All are of one release of Debian (`suite`), and apt verifies them with its keyring; `work` is for what apt needs
    meanwhile.
    """
    from longlook import guestkernel_apt as apt  # not at the top: a guest reads the declarations of stacks

    for program in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(program) is None:
            raise MachineError(f"{program} is missing, and {listed.parent.parent.name} comes from Debian", _HINT)
    mirror = apt.choose_mirror(apt.machine_entries(Path("/etc/apt")), None)
    if mirror is None:
        raise MachineError("this machine's package sources name no mirror of Debian", _HINT)
    work.mkdir()
    into.mkdir()
    try:
        archive = apt.PrivateApt(work, mirror.uri, suite, apt.archive_keyring(), work / "log")
        archive.update()
        for number, (name, soname) in enumerate(listed_libraries(listed)):
            file = archive.download(_found(archive.show(name), name, suite), work / "packages", lambda _text: None)
            shutil.copy(_unpacked(file, work / "root", soname), into / f"{number:02d}-{soname}")
    except MachineError as error:
        raise MachineError(error.message, _HINT) from error


def listed_libraries(listed: Path) -> list[tuple[str, str]]:
    """(package, soname) of each line that is no comment."""
    lines = [line.split() for line in listed.read_text().splitlines() if not line.startswith("#")]
    return [(package, soname) for package, soname in lines]


def _found(package: "Package | None", name: str, suite: str) -> "Package":
    if package is None:
        raise MachineError(f"Debian {suite} has no package {name}", _HINT)
    return package


def _unpacked(package: Path, root: Path, soname: str) -> Path:
    done = subprocess.run(("dpkg-deb", "-x", str(package), str(root)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MachineError(f"{package.name} cannot be unpacked: {done.stderr.strip()}", _HINT)
    for folder in _LIBRARIES:
        if (root / folder / soname).exists():
            return root / folder / soname
    raise MachineError(f"{package.name} does not hold {soname}", _HINT)
