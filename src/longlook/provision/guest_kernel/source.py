"""Fetches what the guest kernel is compiled from: the pinned linux-source of Debian, and tools that are missing."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from longlook.core import MachineError
from longlook.provision import pins
from longlook.provision.apt import INSTEAD, Package, PrivateApt, archive_keyring, expect_apt, is_file_of, machine_mirror
from longlook.provision.build_steps import run
from longlook.provision.pins import Taken

OLDEST = (7, 2)
"""The first Linux whose User-Mode Linux has what the engine needs: seccomp together with time travel."""

PIN = "source.lock"
"""The file beside the patch that pins the source's package (`provision.pins`)."""

SUITE = "sid"
"""The suite of Debian where new kernels arrive first."""

_TOOLS = ("flex", "bison", "m4", "bc")

_CODE_OF = (  # megabytes that this kernel has no use for; the Kconfig files among them are read all the same
    *(f"drivers/{name}" for name in ("accel", "clk", "comedi", "gpu", "iio", "infiniband", "media", "net/ethernet")),
    *(f"drivers/{name}" for name in ("net/wireless", "pinctrl", "scsi", "staging", "video")),
    "sound",
    *(f"arch/{name}" for name in ("alpha", "arc", "arm", "arm64", "csky", "hexagon", "loongarch", "m68k")),
    *(f"arch/{name}" for name in ("microblaze", "mips", "nios2", "openrisc", "parisc", "powerpc", "riscv", "s390")),
    *(f"arch/{name}" for name in ("sh", "sparc", "xtensa")),
)
LEFT_OUT = (
    *("Documentation/*/*", "tools/perf/*", "tools/testing/*"),
    *(f"{folder}/*.{ending}" for folder in _CODE_OF for ending in ("[chS]", "dts", "dtsi")),
)
"""Patterns of files that are not extracted: three quarters of the archive."""


def pinned_source(recipe: Path) -> Package:
    """Return the package that a recipe pins; raise MachineError if its file of pins does not name one."""
    pinned = pins.read_pins(recipe / PIN)
    if len(pinned) != 1:
        raise MachineError(f"{recipe / PIN} pins {len(pinned)} packages instead of one", "restore that file")
    return pinned[0]


def fetch_source(pin: Package, work: Path, log: Path, say: Callable[[str], None]) -> Taken:
    """Download and verify the pinned source; an interrupted build goes on with the source that it had chosen.

    If the mirror no longer has it, take the newest linux-source instead. Raise MachineError if the mirror has none that
    is new enough.
    """
    chosen = work / "source.json"
    files = work / "packages"
    if chosen.exists():
        made = json.loads(chosen.read_text())
        package = Package(**made["package"])
        if made["pinned"] == pin.sha256 and is_file_of(package, files / package.file_name):
            return Taken(package, pin, files / package.file_name)
    expect_apt()
    mirror = machine_mirror()
    say("reading the list of Debian's packages …")
    apt = PrivateApt(work / f"apt-{SUITE}", mirror.uri, SUITE, archive_keyring(), log)
    apt.update()
    say(f"downloading {pin.name} {pin.version} ({pin.size / 1024**2:.0f} MiB) …")
    taken = pins.fetch(apt, pin, files, say, newest_source)
    chosen.write_text(json.dumps({"pinned": pin.sha256, "package": asdict(taken.package)}))
    return taken


def newest_source(apt: PrivateApt) -> Package:
    """Return the newest linux-source of a suite; raise MachineError if none is new enough."""
    name = newest(apt.names("linux-source-"))
    found = apt.show(name) if name else None
    if found is None:
        raise MachineError(
            f"this machine's mirror of Debian has no linux-source-{OLDEST[0]}.{OLDEST[1]} or newer in {SUITE}",
            f"use a current mirror, {INSTEAD}",
        )
    return found


def newest(names: Iterable[str]) -> str | None:
    """Return the linux-source package of the highest version, None if none is new enough."""
    versions = [
        (int(found[1]), int(found[2])) for name in names if (found := re.fullmatch(r"linux-source-(\d+)\.(\d+)", name))
    ]
    best = max(versions, default=OLDEST)
    return f"linux-source-{best[0]}.{best[1]}" if best in versions and best >= OLDEST else None


def extract(source: Taken, patch: Path, tree: Path, log: Path) -> None:
    """Extract the sources into `tree` and patch them; `tree` exists only once it is complete."""
    making = tree.with_name(f"{tree.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    unpacked = making / "package"
    unpacked.mkdir(parents=True)
    hint = "remove the work folder below the cache (see the log's path) and run this again"
    run(["dpkg-deb", "-x", str(source.file), str(unpacked)], log, hint=hint)
    archive = unpacked / "usr" / "src" / f"{source.package.name}.tar.xz"
    sources = making / "sources"
    sources.mkdir()
    left_out = [f"--exclude={source.package.name}/{pattern}" for pattern in LEFT_OUT]
    run(
        ["tar", "-xJf", str(archive), "-C", str(sources), "--strip-components=1", "--anchored", *left_out],
        log,
        env={**os.environ, "XZ_OPT": "-T0"},
        hint=hint,
    )
    run(
        ["patch", "-p1", "--forward", "--batch", "-i", str(patch)],
        log,
        cwd=sources,
        hint=f"{patch.name} does not fit {source.package.name} {source.package.version}: set LONGLOOK_KERNEL",
    )
    sources.rename(tree)
    shutil.rmtree(making)


def fetch_tools(work: Path, log: Path, say: Callable[[str], None]) -> tuple[dict[str, str], list[dict[str, str]]]:
    """Return the variables under which flex, bison, m4 and bc run, and the packages of the tools that this machine
    lacks.

    The packages are fetched first, from the release that the machine has. The tools make the kernel's configuration and
    its table of time units, but nothing of theirs is part of the kernel.
    """
    tools, record = work / "tools", work / "tools.json"
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing and not (record.exists() and all((tools / "usr" / "bin" / tool).exists() for tool in missing)):
        expect_apt()
        mirror = machine_mirror()
        say(f"fetching {', '.join(missing)} for the build …")
        apt = PrivateApt(work / f"apt-{mirror.suite}", mirror.uri, mirror.suite, archive_keyring(), log)
        apt.update()
        needed = _with_libraries(apt, missing)
        for package in needed:
            file = apt.download(package, work / "packages", lambda _text: None)
            run(["dpkg-deb", "-x", str(file), str(tools)], log, hint="see the log")
        record.write_text(json.dumps([pins.identity(package) for package in needed]))
    if not missing:
        return {"PATH": os.environ.get("PATH", os.defpath)}, []
    return tools_environment(tools), json.loads(record.read_text())


def tools_environment(tools: Path) -> dict[str, str]:
    """Return the variables with which programs unpacked below `tools` find one another and their libraries."""
    libraries = sorted(str(folder) for folder in (*tools.glob("lib/*-linux-gnu"), *tools.glob("usr/lib/*-linux-gnu")))
    environment = {"PATH": f"{tools / 'usr' / 'bin'}:{os.environ.get('PATH', os.defpath)}"}
    if libraries:
        environment["LD_LIBRARY_PATH"] = ":".join(libraries)
    if (tools / "usr" / "share" / "bison").is_dir():
        environment["BISON_PKGDATADIR"] = str(tools / "usr" / "share" / "bison")
    if (tools / "usr" / "bin" / "m4").exists():
        environment["M4"] = str(tools / "usr" / "bin" / "m4")
    return environment


def _with_libraries(apt: PrivateApt, names: Iterable[str]) -> list[Package]:
    """Return the packages, and all that they depend on and this machine has not installed."""
    wanted = list(names)
    found: dict[str, Package] = {}
    while wanted:
        name = wanted.pop()
        package = None if name in found else apt.show(name)
        if package is not None:
            found[name] = package
            wanted += [needed for needed in dependencies(package.depends) if not _is_installed(needed)]
    return list(found.values())


def dependencies(depends: str) -> list[str]:
    """Return the names in a `Depends` field; of alternatives the first."""
    first = (part.partition("|")[0].partition("(")[0].partition(":")[0].strip() for part in depends.split(","))
    return [name for name in first if name]


def _is_installed(package: str) -> bool:
    done = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status}\n", package], capture_output=True, text=True, check=False
    )
    return "installed" in done.stdout.split()
