"""Sizes of datagrams that an echo tries, as study files write them. Standard library only; guests import it."""

from itertools import pairwise

from longlook.core import units

SMALLEST_BYTES, LARGEST_BYTES = 64, 9_000
"""Bounds of a UDP payload: what holds the number of a try, and what fits jumbo frames."""
SMALLEST_QUIC_BYTES = 1_200
"""RFC 9000, 14.1: a client's first packets are at least this large."""
MOST_PAYLOADS = 1_000

HEADER_BYTES = 20 + 8
"""IPv4 and UDP."""
INTERFACE_MTU_BYTES = 1_500
"""The MTU of both ends' interfaces."""
LARGEST_WHOLE_BYTES = INTERFACE_MTU_BYTES - HEADER_BYTES
"""The largest UDP payload that leaves an interface in one piece."""

FORM = "a size such as 1350B, several between commas, or 1200B to 1500B by 5B"
_TO, _BY = " to ", " by "


def payloads(text: str) -> tuple[int, ...]:
    """Return the UDP payloads in bytes, in ascending order; UnitError for a text that is no list of sizes."""
    found: list[int] = []
    for part in text.split(","):
        found += _range(part.strip()) if _TO in part else [_size(part.strip())]
    if wrong := next((size for size in found if not SMALLEST_BYTES <= size <= LARGEST_BYTES), None):
        raise units.UnitError(f"{wrong} bytes: a payload has {SMALLEST_BYTES} B to {LARGEST_BYTES} B")
    if len(found) > MOST_PAYLOADS:
        raise units.UnitError(f"{len(found)} sizes: at most {MOST_PAYLOADS}")
    if len(set(found)) < len(found):
        raise units.UnitError("a size stands there twice: write each once")
    return tuple(sorted(found))


def canonical(value: object) -> str:
    """Return the sizes in one form, so that two spellings are one condition; UnitError for anything else."""
    if not isinstance(value, str):
        raise units.UnitError(f"write {FORM}")
    sizes = payloads(value)
    steps = {after - before for before, after in pairwise(sizes)}
    if len(sizes) > 2 and len(steps) == 1:
        return f"{sizes[0]}B{_TO}{sizes[-1]}B{_BY}{steps.pop()}B"
    return ", ".join(f"{size}B" for size in sizes)


def _range(text: str) -> list[int]:
    ends, by, step_text = text.partition(_BY)
    first_text, _, last_text = ends.partition(_TO)
    if not by:
        raise units.UnitError(f"{text!r} has no step: write {FORM}")
    first, last, step = (_size(part) for part in (first_text, last_text, step_text))
    if step < 1 or last < first or (last - first) % step:
        raise units.UnitError(f"{text!r}: the last size is the first and whole steps of 1 B or more")
    if (last - first) // step >= MOST_PAYLOADS:
        raise units.UnitError(f"{text!r}: at most {MOST_PAYLOADS} sizes")
    return list(range(first, last + 1, step))


def _size(text: str) -> int:
    try:
        return units.parse_size(text.strip())
    except units.UnitError as error:
        raise units.UnitError(f"{error}; write {FORM}") from error
