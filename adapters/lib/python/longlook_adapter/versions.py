"""Versions of somebody else's program, compared."""


def numbers(version: str) -> tuple[int, ...]:
    """Return a version's numbers, by which versions are compared."""
    return tuple(int(part) for part in version.split("."))
