"""The versions that a bisection searches, and those that it leaves out. Pure.

A version's name is a release, `0.65.0`, or a build of one, `0.65.0+BUILD`: a release with patches, or a commit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from longlook.core.errors import InputError

_BUILD = "+"


@dataclass(frozen=True)
class Candidates:
    """`versions` in order of age, the good end first and the bad end last; and those between them that are not tried.

    `left_out` are versions of another kind than both ends: builds between two releases, for example.
    """

    versions: tuple[str, ...]
    left_out: tuple[str, ...]

    def left_out_between(self, known: Sequence[str], last_good: str, first_bad: str) -> tuple[str, ...]:
        """Return those left out between two versions. `known` are all names of the stack in order of age."""
        between = known[known.index(last_good) : known.index(first_bad)]
        return tuple(name for name in self.left_out if name in between)


def candidates(known: Sequence[str], good: str, bad: str) -> Candidates:
    """Return which of the `known` names, in order of age, a search from `good` to `bad` tries.

    Releases are searched between two releases. Builds are searched between two builds: those of the same name if both
    ends are called alike (`0.64.1+knobs` and `0.65.0+knobs`), else all. Between a release and a build both releases and
    the builds of that build's release are searched. InputError if `good` is not the older one.
    """
    first, last = known.index(good), known.index(bad)
    if first >= last:
        raise InputError(f"{good} is not older than {bad}", f"in order of age: {', '.join(known)}")
    kept = [name for name in known[first + 1 : last] if _is_step(name, good, bad)]
    left_out = [name for name in known[first + 1 : last] if name not in kept]
    return Candidates((good, *kept, bad), tuple(left_out))


def is_build(version: str) -> bool:
    """Return whether a version is a build of a release and no release itself."""
    return _BUILD in version


def _is_step(name: str, good: str, bad: str) -> bool:
    builds = [end for end in (good, bad) if is_build(end)]
    if len(builds) == 2:
        alike = _build(good) == _build(bad)
        return _build(name) == _build(good) if alike else is_build(name)
    return not is_build(name) or any(_release(name) == _release(end) for end in builds)


def _release(version: str) -> str:
    return version.partition(_BUILD)[0]


def _build(version: str) -> str:
    return version.partition(_BUILD)[2]
