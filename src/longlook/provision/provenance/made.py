"""The parts of each program: of a stack by the files in its adapter's folder, of the others by their own records.

A folder `adapters/NAME` tells how a stack is made: `versions/VERSION/Cargo.lock` of crates, `go.mod` of modules of Go,
`locks/VERSION.txt` of Python's packages, `packages/VERSION.lock` of Debian's. These files are part of the key under
which a program is cached, so that it was made from them. A program of crates that was built from sources which are no
release has its lock file next to it.
"""

import json
import platform
import re
import subprocess
import tomllib
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from longlook.core import (
    Component,
    Made,
    Program,
    Stack,
    adapters_dir,
    cache_dir,
    file_digest,
    kernel_dir,
    untuned_name,
    wheel_programs,
)
from longlook.provision import decoder, encoder, go, guest_kernel, libclang, pins, players
from longlook.provision.catalogue import is_installed, selected
from longlook.provision.debian import pins_of, taken_for
from longlook.provision.guest_kernel.source import PIN
from longlook.provision.provenance.videos import of_decoder, of_encoder, of_players, pinned_in
from longlook.provision.shared_programs import also_shared

_CRATES = "registry+"  # what the source of a crate from a registry begins with
_REQUIREMENT = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==(\S+)")
_HASH = re.compile(r"--hash=(sha256:[0-9a-f]{64})")
SIGNED_RELEASE = "Debian's signed Release"
_LOCK_OF_SOURCES = "the lock file beside a program that was built from sources"
_GO_DATABASE = "Go's checksum database"
_CHECKOUT = Path(__file__).resolve().parents[4]
_RECORD = "program.json"


def in_repository(file: Path) -> str:
    """Return the words for a file of the repository that vouches for digests."""
    root = adapters_dir().parent
    return f"{file.relative_to(root) if file.is_relative_to(root) else file} in the repository"


def crates(lock: Path, roots: Iterable[str] = (), vouched_by: str = "") -> tuple[Component, ...]:
    """Return the crates of a Cargo.lock: all, or the dependencies of packages of the workspace alone.

    Crates that only tests or other systems use are among them: a lock file does not tell. `vouched_by` says who vouches
    for its digests, by default the file in the repository.
    """
    vouched_by = vouched_by or in_repository(lock)
    packages = tomllib.loads(lock.read_text())["package"]
    chosen = _behind(packages, roots) if roots else packages
    return tuple(
        Component("cargo", each["name"], each["version"], (f"sha256:{each['checksum']}",), vouched_by)
        for each in chosen
        if each.get("source", "").startswith(_CRATES)
    )


def _behind(packages: list[dict[str, Any]], roots: Iterable[str]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    waiting = list(roots)
    while waiting:
        name, _, version = waiting.pop().partition(" ")  # the version stands there where a name has several
        for package in packages:
            key = package["name"], package["version"]
            if package["name"] == name and version.split(" ")[0] in ("", package["version"]) and key not in found:
                found[key] = package
                waiting += package.get("dependencies", ())
    return [found[key] for key in sorted(found)]


def requirements(lock: Path) -> dict[tuple[str, str], Component]:
    """Return the packages of a requirements file with hashes, by normalised name and version.

    A package may have several versions there, each for other systems or versions of Python.
    """
    found: dict[tuple[str, str], Component] = {}
    for stanza in re.split(r"\n(?=\S)", lock.read_text()):
        named = _REQUIREMENT.match(stanza)
        if named:
            hashes = tuple(_HASH.findall(stanza))
            found[normal(named[1]), named[2]] = Component(
                "pypi", normal(named[1]), named[2], hashes, in_repository(lock)
            )
    return found


def locked(name: str, version: str, packages: Mapping[tuple[str, str], Component]) -> Component:
    """Return an installed Python package as a lock file has it, or as one that nobody vouches for."""
    name = normal(name)
    return packages.get((name, version)) or Component("pypi", name, version, (), "nobody: the lock file lacks it")


def normal(name: str) -> str:
    """Return the name of a Python package as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def modules(printed: str, sums: Mapping[tuple[str, str], str], vouched_by: str) -> tuple[Component, ...]:
    """Return the modules that `go version -m` prints about a program.

    `sums` has the checksums of a go.sum, for modules that were patched and so are printed without one.
    """
    found = []
    for line in printed.splitlines():
        kind, *facts = line.strip().split("\t")
        if kind == "dep":
            name, version = facts[:2]
            checksum = next((fact for fact in facts[2:] if fact), "") or sums.get((name, version), "")
            found.append(Component("golang", name, version, (checksum,) if checksum else (), vouched_by))
    return tuple(found)


def checksums(go_sum: Path) -> dict[tuple[str, str], str]:
    """Return the checksums of the modules that a go.sum names, by name and version."""
    if not go_sum.is_file():  # without dependencies there are no sums
        return {}
    lines = (line.split() for line in go_sum.read_text().splitlines() if line.strip())
    return {(name, version): checksum for name, version, checksum in lines}


def of_part(stack: Stack, version: str, program: Program) -> Made:
    """Return what an installed version of a stack is made of."""
    folder, library = adapters_dir() / stack.name, untuned_name(version)
    record = _record(Path(program.path))
    built_by = str(record.get("toolchain", ""))
    name = f"{stack.name}@{version}"
    deviations: tuple[str, ...] = ()
    components: tuple[Component, ...] | None = None
    if (lock := Path(program.path).with_name("Cargo.lock")).is_file():
        components = crates(lock, vouched_by=_LOCK_OF_SOURCES)
    elif (lock := folder / "versions" / version / "Cargo.lock").is_file():
        components = crates(lock)
    elif (folder / "go.mod").is_file():
        components = _of_go(folder, library, Path(program.path))
    elif (lock := folder / "locks" / f"{version}.txt").is_file():
        components = _of_environment(Path(program.path).parents[1], lock)
    elif records := taken_for(stack.name, version, program):
        components = tuple(_debian(each, pins_of(folder / "packages" / f"{version}.txt")) for each in records)
        deviations = tuple(f"{name} has {other}" for other in map(pins.deviation, records) if other)
    elif stack.system_package is not None:
        components = _of_system(stack.system_package)
    return Made(name, version, program.digest, built_by, components, deviations)


def of_kernel() -> Made | None:
    """Return what the guest kernel is made of; None if none is there."""
    if not guest_kernel.installed():
        return None
    program = guest_kernel.kernel_program(lambda _text: None)
    deviation = guest_kernel.deviation()
    deviations = () if deviation is None else (deviation,)
    record = guest_kernel.made_of()
    if record is None:
        return Made("kernel", "unknown", program.digest, "", None, deviations)
    source = _debian(record["source"], kernel_dir() / PIN)
    tools = (_debian(each, None) for each in record.get("tools", ()))
    return Made("kernel", record["release"], program.digest, record["gcc"], (source, *tools), deviations)


def of_wheels(without: Collection[str] = ()) -> tuple[Made, ...]:
    """Return what the programs of the wheel are made of, and the Python that Longlook itself runs on.

    `without` has the names of programs that have no part in the subject. Raise MachineError if one is missing.
    """
    found = (_of_wheel(name, program) for name, program in wheel_programs().items() if name not in without)
    return (*found, of_longlook())


def _of_wheel(name: str, program: Program) -> Made:
    lock, source = _CHECKOUT / "Cargo.lock", _CHECKOUT / "crates" / "programs" / "src" / "bin" / f"{name}.rs"
    known = lock.is_file() and source.is_file()
    components = crates(lock, _crates_in(source.read_text())) if known else None
    return Made(name, metadata.version("longlook"), program.digest, "rustc of this machine", components)


def _crates_in(source: str) -> set[str]:
    """Return the crates that a program's source names, as Cargo.lock spells them."""
    return {name.replace("_", "-") for name in re.findall(r"\b([a-z0-9_]+)::", source)} - {"std", "crate"}


def of_longlook() -> Made:
    """Return the Python packages that Longlook itself runs on."""
    found: set[str] = set()
    waiting = needed_by("longlook")
    while waiting:
        name = waiting.pop()
        if name in _installed():  # others are for another system or version of Python
            found.add(name)
            waiting |= needed_by(name) - found
    return _of_packages(found)


def of_checkout() -> Made:
    """Return all Python packages beside Longlook: what it runs on, and the tools for working on it."""
    return _of_packages(_installed().keys() - {"longlook"})


def _of_packages(names: Iterable[str]) -> Made:
    lock = _CHECKOUT / "requirements.lock"
    packages = requirements(lock) if lock.is_file() else {}
    components = tuple(locked(name, _installed()[name], packages) for name in sorted(names))
    version = f"{platform.python_implementation()} {platform.python_version()}"
    return Made("longlook", metadata.version("longlook"), None, f"{version} of this machine", components)


@cache
def _installed() -> dict[str, str]:
    """Return the version of each Python package beside Longlook, by normalised name."""
    return {normal(each.name): each.version for each in metadata.distributions()}


def _of_environment(folder: Path, lock: Path) -> tuple[Component, ...]:
    """Return the packages of a stack's own environment."""
    packages = requirements(lock)
    names = sorted(path.name.removesuffix(".dist-info") for path in folder.glob("lib/python*/*/*.dist-info"))
    return tuple(locked(name, version, packages) for name, _, version in (each.rpartition("-") for each in names))


def needed_by(package: str) -> set[str]:
    """Return the packages that an installed one names as needed, without packages of extras, which nothing here asks
    for.

    Conditions on systems and versions are not looked at: what they leave out is not installed.
    """
    needed = metadata.requires(package) or ()
    names = (re.match(r"[A-Za-z0-9._-]+", each) for each in needed if not re.search(r"\bextra\s*==", each))
    return {normal(name[0]) for name in names if name}


def _of_go(folder: Path, library: str, program: Path) -> tuple[Component, ...] | None:
    own = folder / "versions" / library
    go_sum = (own if own.is_dir() else folder) / "go.sum"
    try:
        done = subprocess.run(("go", "version", "-m", str(program)), capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    if done.returncode != 0:
        return None
    vouched_by = f"{in_repository(go_sum)}, {_GO_DATABASE}"
    release = done.stdout.partition("\n")[0].rpartition(": ")[2].strip()
    return (_of_toolchain(release), *modules(done.stdout, checksums(go_sum), vouched_by))


def _of_toolchain(release: str) -> Component:
    """Return the standard library that a release of Go links into what it compiles."""
    system, machine = "linux", {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    checksum = go.toolchain_sums().get(go.toolchain_module(release, f"{system}-{machine}"))
    if checksum is None:
        return Component(
            "golang", "stdlib", release.removeprefix("go"), (), "this machine, which has that Go installed"
        )
    vouched_by = f"{in_repository(adapters_dir() / go.TOOLCHAINS)}, {_GO_DATABASE}"
    return Component("golang", "stdlib", release.removeprefix("go"), (checksum,), vouched_by)


def _of_system(package: str) -> tuple[Component, ...] | None:
    done = subprocess.run(
        ("dpkg-query", "-W", "-f", "${Version}", package), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return None
    return (Component("deb", package, done.stdout.strip(), (), f"{SIGNED_RELEASE}, by this machine's apt"),)


def _debian(record: dict[str, Any], pinned_in: Path | None) -> Component:
    """Return a package of Debian; one that is as pinned has the repository behind it, another only Debian."""
    as_pinned = pinned_in is not None and "instead_of" not in record
    vouched_by = in_repository(pinned_in) if as_pinned and pinned_in else SIGNED_RELEASE
    return Component("deb", record["name"], record["version"], (f"sha256:{record['sha256']}",), vouched_by)


def _record(program: Path) -> dict[str, Any]:
    """Return the build record of a program in the cache; empty for one that was not built here."""
    for folder in program.parents:
        if folder == cache_dir() or not folder.is_relative_to(cache_dir()):
            break
        if (folder / _RECORD).is_file():
            record: dict[str, Any] = json.loads((folder / _RECORD).read_text())
            return record
    return {}


_AT_ONCE = 8


def all_made() -> list[Made]:
    """Return what every installed program is made of: stacks, the guest kernel, what makes and plays videos, our own.

    Nothing is installed for it. Raise MachineError if the programs of the wheel are missing.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:  # each answer takes reading a disk or starting a program
        stacks = [made for made in pool.map(lambda each: _of_installed(*each), selected(())) if made is not None]
    kernel = of_kernel()
    videos = [*([of_encoder()] if encoder.is_fetched() else []), *of_players(_players_here())]
    videos += [of_decoder()] if decoder.is_fetched() else []
    tools = [of_libclang()] if libclang.is_fetched() else []
    own = [made for made in of_wheels() if made.sha256]
    return [*stacks, *([kernel] if kernel else []), *videos, *tools, *own, of_checkout()]


def of_libclang() -> Made:
    """Return what the library is made of with which crates read headers of C; it has to be here."""
    digests = tuple(f"sha256:{each}" for each in libclang.PACKAGE_SHA256)
    package = Component(
        "pypi", libclang.PACKAGE, libclang.VERSION, digests, pinned_in(libclang.__file__), libclang.LICENCE
    )
    library = file_digest(libclang.folder() / libclang.LIBRARY)
    name = f"{libclang.PACKAGE}@{libclang.VERSION}"
    return Made(name, libclang.VERSION, library, "", (package,), licence=libclang.LICENCE)


def _players_here() -> list[str]:
    return list(players.PLAYERS) if players.are_fetched() else []


def _of_installed(stack: Stack, version: str) -> Made | None:
    if stack.remote:  # on another machine, which may be away: nothing of it was downloaded here
        return None
    if not is_installed(stack, version):
        return None
    with also_shared():
        return of_part(stack, version, stack.program(version))
