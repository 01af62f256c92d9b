"""Compiles the guest kernel: the same sources, patch, configuration and compiler give the same bytes."""

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from longlook.core import MachineError, content_hash, file_digest, usable_cpus
from longlook.provision.apt import INSTEAD, archive_keyring, expect_apt, machine_mirror
from longlook.provision.build_steps import BuildProgress, ObjectCount, run
from longlook.provision.guest_kernel.source import extract, fetch_source, fetch_tools, pinned_source
from longlook.provision.pins import Taken

STEPS = 2
"""Has to be raised when a change of the steps changes the kernel that they make of the same inputs."""

_MAKE = ("make", "ARCH=um", "RUSTC=none", "PAHOLE=none")
"""The configuration that the image shows names compilers which this kernel has no use for, if a machine has them."""
_EXPECTED_OBJECTS = 950  # of Linux 7.2 with kernel/config; only for the progress shown
_SPACE_BYTES = 1_500_000_000  # package 0.2, its archive 0.2 while it is unpacked, sources and objects 0.7, lists 0.1
_INDISPENSABLE = tuple(
    f"CONFIG_{name}=y" for name in ("UML_TIME_TRAVEL_SUPPORT", "STATIC_LINK", "HOSTFS", "INET", "PACKET", "VETH")
)
_ALWAYS_THE_SAME = {
    "KBUILD_BUILD_TIMESTAMP": "Sat Jan  1 00:00:00 UTC 2000",
    "KBUILD_BUILD_USER": "longlook",
    "KBUILD_BUILD_HOST": "longlook",
    "KBUILD_BUILD_VERSION": "1",
    "LC_ALL": "C",
    "TZ": "UTC",
}
_PACKAGES = "sudo apt-get install build-essential patch xz-utils"
_STATIC_PROGRAM = '#include <stdio.h>\nint main(void) { return puts("") < 0; }\n'


def expect_buildable() -> None:
    """Raise MachineError, with what to do, where a kernel cannot be built on this machine."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise MachineError(
            f"the guest kernel runs on Linux on x86_64 only, and this is {platform.system()} on {platform.machine()}",
            "use `--engine live`",
        )
    missing = [tool for tool in ("make", "gcc", "ld", "strip", "patch", "tar", "xz") if shutil.which(tool) is None]
    if missing:
        raise MachineError(f"the guest kernel cannot be built without {', '.join(missing)}", f"{_PACKAGES}, {INSTEAD}")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["gcc", "-x", "c", "-", "-static", "-o", f"{folder}/out"],
            input=_STATIC_PROGRAM,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise MachineError("gcc finds no headers or no static library of C", f"{_PACKAGES}, {INSTEAD}")


def expect_sources() -> None:
    """Raise MachineError, with what to do, where this machine has no access to Debian's packages."""
    expect_apt()
    machine_mirror()
    archive_keyring()


def build_kernel(
    recipe: Path, work: Path, into: Path, say: Callable[[str], None], keep_open: int | None = None
) -> dict[str, Any]:
    """Build the kernel as the file `into` and return the record of what it was made of.

    `recipe` holds the patch, the configuration and the pinned source. `work` keeps the state of an interrupted build,
    from which the next one goes on. `keep_open` is a descriptor that every child of the compilation inherits. Raise
    MachineError if a step fails.
    """
    expect_buildable()
    _expect_space(work)
    work.mkdir(parents=True, exist_ok=True)
    log = work / "build.log"
    source = fetch_source(pinned_source(recipe), work, log, say)
    made_of = {
        "source": source.record,
        "patch": file_digest(recipe / "time-travel.patch"),
        "config": file_digest(recipe / "config"),
        "gcc": _gcc_version(),
        "steps": STEPS,
    }
    key = content_hash(made_of)
    variables, tools = fetch_tools(work, log, say)
    env = _environment(variables)
    tree = _tree(recipe, work, source, key, env, log, say)
    lost = lost_settings((recipe / "config").read_text(), (tree / ".config").read_text())
    if lost:
        say(f"{source.package.name} has no {', '.join(lost)}")
    _compile(tree, env, log, say, keep_open)
    run(["strip", "-o", str(into), str(tree / "linux")], log, env=env, hint="see the log")
    into.chmod(0o755)
    release = _answer([str(into), "--version"])
    facts = {"key": key, "release": release, "lost_settings": lost, "tools": tools, "sha256": file_digest(into)}
    return {**made_of, **facts}


def lost_settings(wanted: str, got: str) -> list[str]:
    """Return the settings of the fragment `wanted` that the full configuration `got` lacks.

    Raise MachineError if one of them is indispensable.
    """
    present = set(got.splitlines())
    lost = [line for line in wanted.splitlines() if line.startswith("CONFIG_") and line not in present]
    vital = [line for line in lost if line in _INDISPENSABLE]
    if vital:
        raise MachineError(f"this Linux cannot have {', '.join(vital)}", "set LONGLOOK_KERNEL to an older kernel")
    return lost


def _tree(
    recipe: Path, work: Path, source: Taken, key: str, env: Mapping[str, str], log: Path, say: Callable[[str], None]
) -> Path:
    """Return the folder with the sources of this build, patched and configured."""
    tree = work / f"tree-{key[:16]}"
    for other in work.glob("tree-*"):
        if other != tree:
            shutil.rmtree(other)
    if not tree.is_dir():
        say("extracting the sources …")
        extract(source, recipe / "time-travel.patch", tree, log)
    if not (tree / ".config").exists():
        say("configuring …")
        shutil.copy(recipe / "config", tree / ".config.new")
        # under another name, so that an interrupted step is not taken for a done one
        command = [*_MAKE, "KCONFIG_CONFIG=.config.new", "olddefconfig"]
        run(command, log, cwd=tree, env=env, hint="see the log")
        (tree / ".config.new").rename(tree / ".config")
    return tree


def _compile(tree: Path, env: Mapping[str, str], log: Path, say: Callable[[str], None], keep_open: int | None) -> None:
    jobs = len(usable_cpus())
    say(f"compiling with {jobs} {'job' if jobs == 1 else 'jobs'} (4 to 5 minutes on two cores) …")
    count = ObjectCount(BuildProgress(say, "compiling"), _EXPECTED_OBJECTS, sum(1 for _ in tree.rglob("*.o")))
    command = [*_MAKE, f"-j{jobs}", "linux"]
    run(command, log, cwd=tree, env=env, each=count.see, hint="a rerun goes on from here", keep_open=keep_open)


def _environment(tools: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the caller's flags, languages and make's job server, which change the build."""
    kept = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
    return {**kept, **tools, **_ALWAYS_THE_SAME}


def _gcc_version() -> str:
    return _answer(["gcc", "--version"]).partition("\n")[0]


def _answer(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise MachineError(f"{' '.join(command)} failed: {done.stderr.strip()}", INSTEAD)
    return done.stdout.strip()


def _expect_space(work: Path) -> None:
    if any(work.glob("tree-*")):
        return  # most of it is already spent
    place = next(folder for folder in (work, *work.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    if free < _SPACE_BYTES:
        raise MachineError(
            f"building the guest kernel needs {_SPACE_BYTES / 1e9:.1f} GB in {place}, and {free / 1e9:.1f} GB are free",
            "free some, or move the cache: LONGLOOK_CACHE",
        )
