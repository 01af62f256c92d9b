"""Reads fragmented MP4 (ISO/IEC 14496-12) as far as CMAF needs it: segments, their times, their first frame. Pure."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_CONTAINERS = (b"moof", b"traf")
_NO_SYNC = 0x10000  # sample_is_non_sync_sample of a sample's flags


@dataclass(frozen=True)
class MediaSegment:
    """A segment (`moof` and `mdat`): its bytes, when it begins and how long it is, both in ticks."""

    data: bytes
    begin: int
    duration: int
    begins_with_key: bool


def boxes(data: bytes, start: int = 0, end: int | None = None) -> Iterator[tuple[bytes, int, int]]:
    """Yield (type, first byte of the contents, end) of each box; raise ValueError if one does not fit."""
    end = len(data) if end is None else end
    while start < end:
        if end - start < 8:
            raise ValueError(f"{end - start} bytes behind the last box")
        size, kind = struct.unpack_from(">I4s", data, start)
        if size < 8 or start + size > end:
            raise ValueError(f"a box {kind!r} of {size} bytes where {end - start} are left")
        yield kind, start + 8, start + size
        start += size


def split(data: bytes, shift: int, first: int) -> tuple[bytes, list[MediaSegment]]:
    """Return the initialisation (`ftyp`, `moov`) and the segments of a file, each begun `shift` ticks later.

    The segments are numbered from `first` (0: the first of a track). Raise ValueError for what is no such file.
    """
    init, found, moof = b"", list[MediaSegment](), b""
    for kind, start, end in boxes(data):
        box = data[start - 8 : end]
        if kind in (b"ftyp", b"moov"):
            init += box
        elif kind == b"moof":
            moof = box
        elif kind == b"mdat":
            found.append(_segment(bytearray(moof), box, shift, first + len(found) + 1))
    return init, found


def _segment(moof: bytearray, mdat: bytes, shift: int, number: int) -> MediaSegment:
    begin, duration, key, default, default_flags = 0, 0, False, 0, 0
    for kind, at, _end in _inside(bytes(moof)):
        flags = int.from_bytes(moof[at + 1 : at + 4], "big")
        if kind == b"mfhd":
            struct.pack_into(">I", moof, at + 4, number)
        elif kind == b"tfhd":
            default, default_flags = _defaults(moof, at, flags)
        elif kind == b"tfdt":
            form = ">Q" if moof[at] == 1 else ">I"
            begin = struct.unpack_from(form, moof, at + 4)[0] + shift
            struct.pack_into(form, moof, at + 4, begin)
        elif kind == b"trun":
            duration, key = _run(moof, at, flags, default, default_flags)
    return MediaSegment(bytes(moof) + mdat, begin, duration, key)


def _inside(data: bytes, start: int = 0, end: int | None = None) -> Iterator[tuple[bytes, int, int]]:
    for kind, at, until in boxes(data, start, end):
        yield kind, at, until
        if kind in _CONTAINERS:
            yield from _inside(data, at, until)


def _defaults(moof: bytearray, at: int, flags: int) -> tuple[int, int]:
    """Return the default duration and flags of a track fragment's samples."""
    at += 8 + 8 * bool(flags & 0x1) + 4 * bool(flags & 0x2)
    found = []
    for bit in (0x8, 0x10, 0x20):
        found.append(struct.unpack_from(">I", moof, at)[0] if flags & bit else 0)
        at += 4 * bool(flags & bit)
    return found[0], found[2]


def _run(moof: bytearray, at: int, flags: int, default: int, default_flags: int) -> tuple[int, bool]:
    """Return the duration of a run of samples, and whether its first is a key frame."""
    (count,) = struct.unpack_from(">I", moof, at + 4)
    at += 8 + 4 * bool(flags & 0x1)
    first = struct.unpack_from(">I", moof, at)[0] if flags & 0x4 else default_flags
    at += 4 * bool(flags & 0x4)
    fields = [bit for bit in (0x100, 0x200, 0x400, 0x800) if flags & bit]
    if 0x400 in fields and not flags & 0x4:
        first = struct.unpack_from(">I", moof, at + 4 * fields.index(0x400))[0]
    if 0x100 not in fields:
        return count * default, not first & _NO_SYNC
    return sum(struct.unpack_from(">I", moof, at + 4 * len(fields) * each)[0] for each in range(count)), (
        not first & _NO_SYNC
    )
