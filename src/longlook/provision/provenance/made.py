"""The parts of each program: of a stack by the files in its adapter's folder, of the others by their own records.

A folder `adapters/NAME` tells how a stack is made: `versions/VERSION/Cargo.lock` of crates, `go.mod` of modules of Go,
`locks/VERSION.txt` of Python's packages, `packages/VERSION.lock` of Debian's. These files are part of the key under
which a program is cached, so that it was made from them.
"""

import json
import platform
import re
import subprocess
from collections.abc import Collection, Iterable
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
    kernel_dir,
    untuned_name,
    wheel_programs,
)
from longlook.provision import decoder, encoder, go, guest_kernel, pins, players
from longlook.provision.catalogue import is_installed, selected
from longlook.provision.debian import pins_of, taken_for
from longlook.provision.guest_kernel.source import PIN
from longlook.provision.provenance.locks import checksums, crates, in_repository, locked, modules, normal, requirements
from longlook.provision.provenance.videos import of_decoder, of_encoder, of_players

SIGNED_RELEASE = "Debian's signed Release"
_GO_DATABASE = "Go's checksum database"
_CHECKOUT = Path(__file__).resolve().parents[4]
_RECORD = "program.json"


def of_part(stack: Stack, version: str, program: Program) -> Made:
    """Return what an installed version of a stack is made of."""
    folder, library = adapters_dir() / stack.name, untuned_name(version)
    record = _record(Path(program.path))
    built_by = str(record.get("toolchain", ""))
    name = f"{stack.name}@{version}"
    deviations: tuple[str, ...] = ()
    components: tuple[Component, ...] | None = None
    if (lock := folder / "versions" / version / "Cargo.lock").is_file():
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
    own = [made for made in of_wheels() if made.sha256]
    return [*stacks, *([kernel] if kernel else []), *videos, *own, of_checkout()]


def _players_here() -> list[str]:
    return list(players.PLAYERS) if players.are_fetched() else []


def _of_installed(stack: Stack, version: str) -> Made | None:
    if stack.remote:  # on another machine, which may be away: nothing of it was downloaded here
        return None
    return of_part(stack, version, stack.install(version)) if is_installed(stack, version) else None
