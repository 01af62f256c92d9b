"""HTTP/3 on the streams of picoquic: frames (RFC 9114), and fields by h3zero, picoquic's own QPACK without a table."""

import ctypes as c
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from picoquic_adapter.library import HeaderParts, picoquic

NO_ERROR, INTERNAL_ERROR, GENERAL_ERROR = 0x100, 0x102, 0x101
_DATA, _HEADERS, _SETTINGS = 0, 1, 4
_CONTROL_STREAM = 0
_STATIC = {(b":method", b"GET"): 17, (b":scheme", b"https"): 23, (b":status", b"200"): 25, (b":status", b"404"): 27}
"""Lines of QPACK's static table (RFC 9204, appendix A)."""


class FrameError(ValueError):
    """What came is no HTTP/3."""


@dataclass(frozen=True)
class Head:
    """The fields of a message that this program reads: of a request `method` and `path`, of an answer `status`."""

    method: int
    path: str
    status: int


def control_stream() -> bytes:
    """Return the whole of a control stream: its type and settings, by which the peer's QPACK has no table either."""
    return bytes((_CONTROL_STREAM,)) + _frame(_SETTINGS, b"\x01\x00\x07\x00")


def headers(fields: Mapping[bytes, bytes]) -> bytes:
    """Return a frame with header fields."""
    return _frame(_HEADERS, b"\x00\x00" + b"".join(_field(name, value) for name, value in fields.items()))


def data_header(size: int) -> bytes:
    """Return what precedes a body of `size` bytes, in one frame."""
    return _varint(_DATA) + _varint(size)


class Reader:
    """The frames of one stream of requests, as they come in pieces: heads, and pieces of bodies."""

    def __init__(self) -> None:
        self._rest = b""
        self._kind, self._missing = -1, 0  # of the frame under way

    def feed(self, data: bytes) -> Iterator[Head | bytes]:
        """Take a piece, and yield what it completes; FrameError for what cannot be read."""
        self._rest += data
        while self._rest:
            if self._missing == 0 and not self._begin():
                return
            if self._kind == _HEADERS and len(self._rest) < self._missing:
                return
            piece, self._rest = self._rest[: self._missing], self._rest[self._missing :]
            self._missing -= len(piece)
            if self._kind == _HEADERS:
                yield _head(piece)
            elif self._kind == _DATA and piece:
                yield piece

    def _begin(self) -> bool:
        """Read type and length of the next frame; False if they are not whole. Empty frames have no content."""
        kind, rest = _take_varint(self._rest)
        size, rest = _take_varint(rest)
        if kind is None or size is None:
            return False
        self._kind, self._missing, self._rest = kind, size, rest
        return True


def _head(section: bytes) -> Head:
    buffer, parts = c.create_string_buffer(section, len(section)), HeaderParts()
    start = c.addressof(buffer)
    end = picoquic.h3zero_parse_qpack_header_frame(start, start + len(section), c.byref(parts))
    path = c.string_at(parts.path, parts.path_length).decode(errors="replace") if parts.path else ""
    found = Head(parts.method, path, parts.status)
    picoquic.h3zero_release_header_parts(c.byref(parts))
    if not end:
        raise FrameError("header fields that cannot be read")
    return found


def _frame(kind: int, content: bytes) -> bytes:
    return _varint(kind) + _varint(len(content)) + content


def _field(name: bytes, value: bytes) -> bytes:
    if (line := _STATIC.get((name, value))) is not None:
        return bytes((0xC0 | line,))
    return _prefixed(0x20, 3, len(name)) + name + _prefixed(0, 7, len(value)) + value


def _prefixed(first: int, bits: int, number: int) -> bytes:
    """Return an integer with a prefix of `bits` bits (RFC 9204, 4.1.1)."""
    most = (1 << bits) - 1
    if number < most:
        return bytes((first | number,))
    number -= most
    made = [first | most]
    while number >= 128:
        made.append(128 | number % 128)
        number //= 128
    return bytes((*made, number))


def _varint(number: int) -> bytes:
    for exponent in range(4):
        if number < 1 << (8 * (1 << exponent) - 2):
            size = 1 << exponent
            return (number | exponent << (8 * size - 2)).to_bytes(size, "big")
    raise ValueError(f"{number} is too large")


def _take_varint(data: bytes) -> tuple[int | None, bytes]:
    """Return an integer and what follows it; None if it is not whole."""
    if not data or len(data) < (size := 1 << (data[0] >> 6)):
        return None, data
    return int.from_bytes(data[:size], "big") & ((1 << (8 * size - 2)) - 1), data[size:]
