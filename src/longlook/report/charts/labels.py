"""Names beside the ends of lines, moved apart if they would overlap."""

from collections.abc import Sequence

LABEL_PX = 13.0
"""The distance from one line of text to the next."""


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return positions from `low` to `high`, in order, as near to the wanted ones as a gap between neighbours allows.

    Labels that touch move as one, to the mean of what its members want: the least sum of squares. If there is no room
    for all, the gaps shrink.
    """
    if not wanted:
        return []
    gap = min(gap, (high - low) / max(1, len(wanted) - 1))
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    blocks: list[tuple[float, int]] = []  # sum of what the members want of the first one's position, members
    for number, place in enumerate(order):
        block = (wanted[place] - gap * number, 1)
        while blocks and blocks[-1][0] / blocks[-1][1] >= block[0] / block[1]:
            before = blocks.pop()
            block = (before[0] + block[0], before[1] + block[1])
        blocks.append(block)
    span = gap * (len(wanted) - 1)
    starts = [min(max(total / count, low), high - span) for total, count in blocks for _ in range(count)]
    found = [0.0] * len(wanted)
    for number, place in enumerate(order):
        found[place] = starts[number] + gap * number
    return found
