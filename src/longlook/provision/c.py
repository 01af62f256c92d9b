"""Builds libraries in C by their own build system, CMake, so that equal sources give equal libraries wherever they lie.

A build runs what the sources say: it is confined, and has an environment of its own.
"""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from longlook.core import InputError, MachineError
from longlook.provision import confined
from longlook.provision.build_cache import toolchain_version

_HINT = "sudo apt-get install build-essential cmake"
_KEPT = ("PATH", "HOME", "TMPDIR")
_PROJECT = re.compile(r"^\s*project\s*\(\s*([\w.+-]+)(?:\s+VERSION\s+([\d.]+))?", re.M | re.I)


def state_cmake_version(folder: Path, project: str) -> str:
    """Return the version that sources state in CMakeLists.txt, "" if none; InputError if they are another project's."""
    file = folder / "CMakeLists.txt"
    if not file.is_file():
        raise InputError(
            f"the sources have no CMakeLists.txt, and are none of {project}", "name the folder that has it"
        )
    found = _PROJECT.search(file.read_text(errors="replace"))
    named = found[1] if found else "no project"
    if found is None or named != project:
        raise InputError(f"the sources are those of {named}", f"name a folder with {project}")
    return found[2] or ""


def c_toolchain() -> str:
    """Return the versions of the compiler and of CMake, for the keys of the cache; MachineError if one is missing."""
    tools = (("cc", "--version"), ("cmake", "--version"))
    return "; ".join(toolchain_version(tool, _HINT).splitlines()[0] for tool in tools)


def compile_c(sources: Path, work: Path, name: str, options: Mapping[str, str]) -> Path:
    """Build a copy of sources below the new folder `work`; return the folder with what they install (`lib`, `include`).

    `options` are variables of CMake. `name` stands for the place of the sources in what is compiled. The log is
    `build.log` beside `work`'s parent. Raise MachineError with the end of the log if the build fails.
    """
    work.mkdir()
    copy, made, prefix = work / "sources", work / "build", work / "prefix"
    shutil.copytree(sources, copy, symlinks=True)
    env = {each: os.environ[each] for each in _KEPT if each in os.environ}
    env |= {"LC_ALL": "C", "SOURCE_DATE_EPOCH": "0", "CC": "cc", "CFLAGS": f"-ffile-prefix-map={work}=/{name}"}
    settings = {"CMAKE_BUILD_TYPE": "Release", "CMAKE_SKIP_RPATH": "ON", "CMAKE_INSTALL_LIBDIR": "lib", **options}
    variables = (f"-D{key}={value}" for key, value in settings.items())
    steps = (
        ("cmake", "-S", str(copy), "-B", str(made), *variables),
        ("cmake", "--build", str(made), "--parallel", str(len(os.sched_getaffinity(0)))),
        ("cmake", "--install", str(made), "--prefix", str(prefix), "--strip"),
    )
    log = work.parent.parent / "build.log"
    log.unlink(missing_ok=True)
    for step in steps:
        confined.run(step, work, env, log=log)
    return prefix


def library_of(prefix: Path, name: str) -> Path:
    """Return an installed shared library by its SONAME, such as libngtcp2.so.16; MachineError if there is none."""
    found = [path for path in (prefix / "lib").glob(f"{name}.so.*") if path.name.count(".") == 2]
    if len(found) != 1:
        raise MachineError(f"the build did not install {name}", "are shared libraries switched off in the sources?")
    confined.inside(found[0], prefix)
    return found[0]
