"""The origin of the programs of trials: all that was downloaded for them, with digests, and who vouches for each."""

from collections.abc import Mapping
from dataclasses import dataclass, field

_LATER: Mapping[str, bool] = {"omitted_when_empty": True}


@dataclass(frozen=True)
class Component:
    """A thing that was downloaded and is part of a program.

    `digests` are `sha256:` or `sha512:` and hexadecimal digits, or `h1:` as Go writes it. If a lock file
    allows several files, one of them belongs to the file that was taken; empty: none is recorded.
    """

    ecosystem: str  # cargo, golang, pypi, npm, deb or generic: the type of its package URL
    name: str
    version: str
    digests: tuple[str, ...]
    vouched_by: str
    licence: str = field(default="", metadata=_LATER)  # its name in SPDX; empty: what pins it does not tell


@dataclass(frozen=True)
class Made:
    """A program that trials use, and what it is made of.

    `components` is None if nothing tells. `deviations` says what is not as the repository pins it.
    """

    name: str
    version: str
    sha256: str | None  # of the program as `core.job.Program` has it; None: the Python code that runs this
    built_by: str  # the compilers; empty: nothing was compiled here
    components: tuple[Component, ...] | None
    deviations: tuple[str, ...] = ()
    licence: str = field(default="", metadata=_LATER)  # of the whole, its name in SPDX; empty: not recorded
