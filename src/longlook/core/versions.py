"""The names of versions: a release, `0.65.0`, or a build of one, `0.65.0+BUILD`: its sources with patches, or a commit.

The build `knobs` is the tunable one: it behaves as its release does if its knobs are at their defaults
(docs/reference/stacks.md). It stands in for that release alone, since another build of the release is another program.
"""

_SIGN = "+"
_TUNABLE = f"{_SIGN}knobs"


def release_name(version: str) -> str:
    """Return the release that a version is, or is a build of."""
    return version.partition(_SIGN)[0]


def build_name(version: str) -> str:
    """Return the name of a build, without its release; empty for a release."""
    return version.partition(_SIGN)[2]


def is_build(version: str) -> bool:
    """Return whether a version is a build of a release and no release itself."""
    return _SIGN in version


def is_tunable(version: str) -> bool:
    """Return whether a version is the tunable build of a release, or of another build."""
    return version.endswith(_TUNABLE)


def tunable_name(version: str) -> str:
    """Return the name of a version's tunable build; a tunable build's own name."""
    return version if is_tunable(version) else f"{version}{_TUNABLE}"


def untuned_name(version: str) -> str:
    """Return the version that a tunable build was made from; any other version's own name."""
    return version.removesuffix(_TUNABLE)
