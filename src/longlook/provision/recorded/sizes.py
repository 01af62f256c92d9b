"""How many bytes of a body a HAR says were transferred, over what its tools make of HAR's fields. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from longlook.provision.recorded.fields import as_count, as_mapping


class SizeFrom(StrEnum):
    """The field that a size is taken from."""

    BODY = "bodySize"
    TRANSFER = "_transferSize"
    OBJECT = "_objectSize"
    ARRIVED = "_bytesIn"
    CONTENT = "content.size"
    CONTRADICTED = "content.size less compression"  # bodySize is that of the decoded content


@dataclass(frozen=True)
class Size:
    """The bytes of a body as it was transferred; 0 if it is empty, or if a tool writes 0 for what it does not know."""

    size_bytes: int
    source: SizeFrom


def transferred(entry: Mapping[str, Any], response: Mapping[str, Any]) -> Size | None:
    """Return the size of an entry's body; None if no field has it.

    HAR's own field counts first, unless it contradicts what compression saved (HAR 1.2: `compression` is `content.size`
    less `bodySize`). Chrome has it for HTTP/1.1 alone, else the whole response with its headers. WebPageTest has the
    body, and what arrived with headers. The last is the body after decoding, less what compression saved if that is
    known.
    """
    content = as_mapping(response.get("content"))
    size, saved = as_count(content.get("size")), max(as_count(content.get("compression")) or 0, 0)
    decoded = None if size is None or size < 0 else max(size - saved, 0)
    body, whole = as_count(response.get("bodySize")), as_count(response.get("_transferSize"))
    if body and body > 0:
        if not (saved and decoded and size is not None and body >= size):
            return Size(body, SizeFrom.BODY)
        return Size(decoded, SizeFrom.CONTRADICTED)
    known = (
        (whole, SizeFrom.TRANSFER),
        (as_count(entry.get("_objectSize")), SizeFrom.OBJECT),
        (_less_headers(as_count(entry.get("_bytesIn")), response), SizeFrom.ARRIVED),
    )
    for value, source in known:
        if value is not None and value > 0:
            return Size(value, source)
    if body == 0 and decoded is None:
        return Size(0, SizeFrom.BODY)
    return None if decoded is None else Size(decoded, SizeFrom.CONTENT)


def _less_headers(arrived: int | None, response: Mapping[str, Any]) -> int | None:
    return None if arrived is None else arrived - max(as_count(response.get("headersSize")) or 0, 0)
