"""The facts that a trial's bytes depend on beside its job: a worker runs what it is sent if all of them are equal.

`facts_of` is called on both sides for the same jobs. Names are what a user reads in a refusal; values are digests or
short texts. The kernel, memory and way of running programs are the engine's own setting, and are compared with them.
"""

import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from longlook.core import (
    Job,
    MachineError,
    Program,
    endpoints_of,
    file_digest,
    link_program,
    paths,
    trace_program,
)
from longlook.engines import agent_digest
from longlook.run import stack_digest

_FEATURES = ("aes", "avx", "avx2", "bmi2", "fma", "pclmulqdq", "sha_ni", "sse4_1", "sse4_2", "ssse3")
"""The processor's features by which programs choose what they send or compute.

A TLS library prefers another cipher without `aes` and `pclmulqdq`, and a library of mathematics may round the last bit
otherwise without `fma`. Features that only copy or sum faster, such as AVX-512, change no byte.
"""

_ELF = b"\x7fELF"
_LINKER_LIMIT_S = 30.0
_HEAD_BYTES = 4096  # of a program: its dynamic linker's name is in them
_FROM_WHEEL: Mapping[str, Callable[[], Program]] = {"longlook-link": link_program, "longlook-trace": trace_program}
"""The programs of the wheel that a job can have."""


def facts_of(jobs: Iterable[Job]) -> dict[str, str]:
    """Return the facts of this machine and its Longlook that these jobs' results depend on; paths do not matter."""
    facts = {
        "processor family": platform.machine(),
        "processor features": processor_features(),
        "Python": sys.version,
        "agent's code": agent_digest(),
    }
    names = sorted({end.stack for job in jobs for end in endpoints_of(job.trial)})
    return facts | {f"code of the stack {name}": stack_digest(name) for name in names}


def facts_of_programs(jobs: Iterable[Job]) -> dict[str, str]:
    """Return the facts about what these jobs' programs take from this machine: the wheel's programs, and libraries."""
    facts: dict[str, str] = {}
    programs = {program.path: program for job in jobs for program in job.programs.values()}
    for path, program in sorted(programs.items()):
        if (name := wheel_name(program)) is not None:
            facts[f"program {name}"] = program.digest
        facts |= libraries_of(path)
    return facts


def wheel_name(program: Program) -> str | None:
    """Return the name of the wheel's program that a program is on this machine; None if it is none of them."""
    return next((name for name, own in _FROM_WHEEL.items() if program.path == own().path), None)


def own_program(name: str) -> Program:
    """Return the program of this name of this machine's wheel; MachineError if it is missing."""
    if name not in _FROM_WHEEL:
        raise MachineError(f"the wheel here has no program {name}", "install the same Longlook everywhere")
    return _FROM_WHEEL[name]()


def differing(wanted: Mapping[str, str], here: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the facts that differ: name → the sender's value and this machine's; `-` if it has none."""
    return {name: (value, here.get(name, "-")) for name, value in wanted.items() if here.get(name) != value}


@cache
def processor_features() -> str:
    """Return which of the features that decide bytes this machine's processor has, in alphabetical order."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return " ".join(sorted(set(value.split()) & set(_FEATURES)))
    return ""


@cache
def libraries_of(path: str) -> Mapping[str, str]:
    """Return the shared libraries that a program loads from the system, each with its digest; none of a static one.

    A program in Python loads the libraries of the system's Python and of its module for TLS.
    """
    found: dict[str, str] = {}
    for program in _binaries(Path(path)):
        for library in _listed(program):
            if not library.is_relative_to(paths.cache_dir()):
                found[f"library {library.name}"] = file_digest(library)
    return found


def _binaries(path: Path) -> Iterator[Path]:
    if path.suffix == ".py" or path.resolve() == Path(sys.executable).resolve():
        yield Path(sys.executable).resolve()
        import _ssl

        if (file := getattr(_ssl, "__file__", None)) is not None:
            yield Path(file)
        return
    with path.open("rb") as file:
        if file.read(len(_ELF)) == _ELF:
            yield path


def _listed(program: Path) -> list[Path]:
    """Return the files that the dynamic linker would load for a program."""
    linker = _interpreter(program)
    if linker is None:
        return []
    listing = subprocess.run(
        [linker, "--list", str(program)], capture_output=True, text=True, check=False, timeout=_LINKER_LIMIT_S
    ).stdout
    named = (line.partition("=>")[2].split() for line in listing.splitlines() if "=>" in line)
    libraries = [Path(words[0]).resolve() for words in named if words and words[0].startswith("/")]
    return [Path(linker).resolve(), *libraries]


def _interpreter(program: Path) -> str | None:
    """Return the dynamic linker of this machine if a program is linked to shared libraries, None if it is static."""
    with program.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    known = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")
    if b".so" in head and (named := next((each for each in known if each.encode() in head), None)):
        return named
    # A shared library names none: it is loaded into a program that does.
    return next((each for each in known if Path(each).exists()), None) if program.suffix == ".so" else None
