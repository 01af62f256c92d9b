"""Randomness of plans: the same on every machine and version of Python, and independent for different names. Pure."""

import hashlib

from longlook.core import codec

SEED_BITS = 63


def rank(*parts: str | int) -> int:
    """Return a number below 2**63, uniform and independent for different parts."""
    digest = hashlib.sha256(codec.canonical(list(parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - SEED_BITS)


def uniform(*parts: str | int) -> float:
    """Return a number from 0 to below 1, uniform and independent for different parts."""
    return (rank(*parts) >> (SEED_BITS - 53)) / 2**53
