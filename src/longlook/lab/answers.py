"""What is wrong with one answer that a client reports. Pure, as `judge` is."""

from longlook.core.job import Expected
from longlook.lab.observations import Line

_OK, _PARTIAL = 200, 206


def wrong_answer(line: Line, expected: Expected) -> str | None:
    """Return what is wrong with the answer of an `object` line, or None where it is the expected file."""
    if line.get("error") is not None:
        return str(line["error"])
    if line.get("status") != _OK:
        return f"HTTP status {line.get('status')}"
    return wrong_body(line, expected)


def wrong_part(line: Line, expected: Expected) -> str | None:
    """Return what is wrong with the answer to a request of a part of the file, as far as it is known."""
    if line.get("error") is not None:
        return str(line["error"])
    if line.get("status") != _PARTIAL:
        return f"HTTP status {line.get('status')}, not {_PARTIAL}"
    size = line.get("bytes")
    return None if isinstance(size, int) and 0 < size < expected.bytes else f"a part of {size} bytes"


def wrong_body(line: Line, expected: Expected) -> str | None:
    """Return what is wrong with the bytes of a line; a digest that the client does not know is not checked."""
    if line.get("bytes") != expected.bytes:
        return f"wrong body: {line.get('bytes')} bytes, expected {expected.bytes}"
    if line.get("digest") not in (None, expected.digest):
        return f"wrong body: {line['digest']}, expected {expected.digest}"
    return None
