"""The words of a packet's `detail` for a datagram that its sender sent before, byte for byte. Pure."""

import re

SAME_BYTES = "the same bytes as packet "
"""Begins one of the parts of `detail`, which "; " separates; the earlier packet's `sequence` follows."""

_PART = re.compile(rf"(?:^|; ){SAME_BYTES}(\d{{1,18}})(?:; |$)")


def packet_of_same_bytes(detail: str | None) -> int | None:
    """Return the number of the earlier packet that had the same bytes, by a packet's `detail`; None if it names none.

    The number counts the packets of the link and direction of the packet that `detail` is of.
    """
    found = _PART.search(detail or "")
    return None if found is None else int(found[1])
