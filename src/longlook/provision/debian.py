"""Fetches libraries and programs from packages of Debian, whatever the machine has installed, without root."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longlook.core import MachineError, Program, adapters_dir, cache_dir, content_hash
from longlook.provision import pins
from longlook.provision.build_cache import filled
from longlook.provision.progress import report_step

if TYPE_CHECKING:
    from longlook.provision.apt import Package, PrivateApt

SOURCES = "sources"
"""The folder of a building ground with the sources of a release."""

_HINT = "this needs apt, a mirror of Debian among the machine's package sources, and the network once"
_LIBRARIES = ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")


def fetch_libraries(listed: Path, suite: str, work: Path, into: Path) -> None:
    """Put the libraries that a file lists (`PACKAGE SONAME` lines) into the new folder `into`, as `NN-SONAME` in order.

    All are of one release of Debian (`suite`), as the file of pins beside the list has them (`pins`); apt verifies what
    it takes from an index with its keyring. The folder above `into` gets the record of what was taken; `work` is apt's
    temporary folder. Raise MachineError if they cannot be fetched.
    """
    libraries = listed_libraries(listed)
    root = _unpacked(listed, suite, work, into.parent)
    into.mkdir()
    for number, (name, soname) in enumerate(libraries):
        shutil.copy(debian_library(root, name, soname), into / f"{number:02d}-{soname}")


def fetch_packages(listed: Path, suite: str, work: Path, into: Path) -> None:
    """Unpack the packages that a file lists (one per line) into a folder, without their documentation.

    Release, pins, record, `work` and errors are as for `fetch_libraries`; the machine's own packages stay as they are.
    """
    shutil.move(_unpacked(listed, suite, work, into.parent), into)
    shutil.rmtree(into / "usr" / "share", ignore_errors=True)


def fetch_sources(pinned: Path, suite: str, work: Path, into: Path) -> None:
    """Unpack the one archive of sources that a file of pins names into a new folder; `work` is apt's temporary folder.

    The folder above `into` gets the record. The pinned digest vouches for it. Raise MachineError if it cannot be
    fetched.
    """
    stack = pinned.parent.parent.name
    (pin,) = pins.read_pins(pinned)
    work.mkdir()
    file = open_archive(suite, work, stack, read_index=False).download_unlisted(pin, work / "packages", report_step)
    if file is None:
        raise MachineError(f"the mirror has {pin.path} no more", f"name a checkout of {stack}: {stack}@./PATH")
    shutil.unpack_archive(file, work / "sources", "xztar")
    (sources,) = (work / "sources").iterdir()
    shutil.move(sources, into)
    pins.write_record([pins.Taken(pin, pin, file)], into.parent)


def building_ground(name: str, lists: Mapping[Path, str], sources: Path, suite: str) -> Path:
    """Return the folder of the cache on which libraries are built: packages (`usr`, `lib`), `sources`, and the record.

    `lists` has lists of packages, each with its release of Debian; `sources` is the file of pins of the archive of
    sources, of the release `suite`. The folder is called after `name`, and made if it is missing.
    """
    key = content_hash([file.read_text() for file in (*map(pins_of, lists), sources)])

    def fill(into: Path) -> None:
        taken = []
        for number, (listed, release) in enumerate(lists.items()):
            part = into / f"part-{number}"
            part.mkdir()
            fetch_packages(listed, release, part / "apt", part / "made")
            shutil.copytree(part / "made", into, symlinks=True, dirs_exist_ok=True)
            taken += pins.read_record(part)
        part = into / "part-of-sources"
        part.mkdir()
        fetch_sources(sources, suite, part / "apt", part / "made")
        (part / "made").rename(into / SOURCES)
        taken += pins.read_record(part)
        for each in into.glob("part-*"):
            shutil.rmtree(each)
        (into / pins.RECORD).write_text(json.dumps(taken, indent=1) + "\n")

    return filled(cache_dir() / "releases" / f"{name}-{key}", Path.is_dir, fill)


def pins_of(listed: Path) -> Path:
    """Return the file of pins of a list of packages."""
    return listed.with_suffix(".lock")


def _unpacked(listed: Path, suite: str, work: Path, record: Path) -> Path:
    """Fetch and unpack packages; return the folder below `work` that holds their files."""
    stack = listed.parent.parent.name
    pinned = _pinned(listed)
    work.mkdir()
    taken = []
    try:
        archive = open_archive(suite, work, stack)
        for pin in pinned:
            taken.append(pins.fetch(archive, pin, work / "packages", report_step))
            _unpack(taken[-1].file, work / "root")
    except MachineError as error:
        raise MachineError(error.message, _HINT) from error
    pins.write_record(taken, record)
    return work / "root"


def open_archive(suite: str, work: Path, stack: str, *, read_index: bool = True) -> "PrivateApt":
    """Return a release of Debian as the machine's mirror has it, with its index read; `work` is apt's own folder.

    Without `read_index` it delivers only what is pinned. Raise MachineError if the machine has no apt or no mirror of
    Debian.
    """
    from longlook.provision import apt  # not at the top: a guest reads the declarations of stacks

    for program in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(program) is None:
            raise MachineError(f"{program} is missing, and {stack} comes from Debian", _HINT)
    mirror = apt.choose_mirror(apt.machine_entries(Path("/etc/apt")), None)
    if mirror is None:
        raise MachineError("this machine's package sources name no mirror of Debian", _HINT)
    archive = apt.PrivateApt(work, mirror.uri, suite, apt.archive_keyring(), work / "log")
    if read_index:
        archive.update()
    return archive


def taken_for(name: str, version: str, program: Program) -> list[dict[str, Any]]:
    """Return the records (`pins.read_record`) of Debian's packages that a version of a stack was made of.

    Empty for one that is made otherwise.
    """
    if not pins_of(adapters_dir() / name / "packages" / f"{version}.txt").is_file():
        return []
    return pins.read_record(Path(program.path).parents[1])


def listed_packages(listed: Path) -> list[str]:
    """Return the packages that a file lists, with or without a library."""
    return [line[0] for line in _lines(listed)]


def listed_libraries(listed: Path) -> list[tuple[str, str]]:
    """Return (package, soname) for each line that names a library."""
    return [(line[0], line[1]) for line in _lines(listed) if len(line) > 1]


def _lines(listed: Path) -> list[list[str]]:
    return [line.split() for line in listed.read_text().splitlines() if not line.startswith("#")]


def _pinned(listed: Path) -> list["Package"]:
    """Return the pins of a list; raise MachineError if they are of other packages."""
    pinned = pins.read_pins(pins_of(listed))
    if [pin.name for pin in pinned] != listed_packages(listed):
        raise MachineError(f"{pins_of(listed)} does not pin what {listed.name} lists", "python -m scripts.pin_packages")
    return pinned


def _unpack(package: Path, root: Path) -> None:
    done = subprocess.run(("dpkg-deb", "-x", str(package), str(root)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MachineError(f"{package.name} cannot be unpacked: {done.stderr.strip()}", _HINT)


def debian_library(root: Path, package: str, soname: str) -> Path:
    """Return a library of a package that was unpacked below `root`; MachineError if there is none."""
    for folder in _LIBRARIES:
        if (root / folder / soname).exists():
            return root / folder / soname
    raise MachineError(f"{package} does not hold {soname}", _HINT)
