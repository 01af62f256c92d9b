"""Makes the files that a workload serves: deterministic, incompressible, written once. Standard library only.

The bytes depend on the parameters and FORMAT alone, so the digests agree between machines and Python versions.
"""

import hashlib
import inspect
import json
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import longlook
from longlook.core import Content, ExpectedAnswer, Scalar, cache_dir, codec, source_digest
from longlook.provision.build_cache import filled

FORMAT = 1
"""Has to be raised whenever the same parameters give other bytes."""

PRIME_PATH = "/prime"
"""A file of one byte, for priming connections, which only obtain a session ticket."""

BLOCK_BYTES = 1 << 20
_RECORD = "content.json"
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PADDING_CHUNK = b"llPd"  # ancillary, private, safe to copy

PNG_OVERHEAD_BYTES = 84
"""The bytes of a PNG without its padding: signature 8, IHDR 25, the padding chunk's frame 12, IDAT 27, IEND 12."""


class Writer:
    """Adds files to a folder that is being filled, and records the correct answer to a request of each."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.expected: dict[str, ExpectedAnswer] = {}

    def add(self, path: str, blocks: Iterator[bytes]) -> None:
        """Write one file, whose URL has the absolute path `path`."""
        file = self._root / path.removeprefix("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        digest, size = hashlib.sha256(), 0
        with file.open("wb") as out:
            for block in blocks:
                out.write(block)
                digest.update(block)
                size += len(block)
        self.expected[path] = ExpectedAnswer(size, f"sha256:{digest.hexdigest()}")

    def add_hole(self, path: str, size_bytes: int) -> None:
        """Add a file of zeros that takes no space. No client fetches the whole of it, so it has no digest."""
        file = self._root / path.removeprefix("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("wb") as out:
            out.truncate(size_bytes)
        self.expected[path] = ExpectedAnswer(size_bytes, "")


def make_content(
    kind: str, parameters: Mapping[str, Scalar], write: Callable[[Writer], tuple[tuple[str, ...], ...]]
) -> Content:
    """Return the content of a workload, from the cache or made by `write`, which adds files and returns the phases.

    The key is the digest of kind, parameters and FORMAT, and of the plug-in if `write` is one's. Reuse checks the
    size of every file, not its digest: clients compare digests with the recorded ones, so a damaged file fails its
    first trial, and no start has to read it all.
    """
    key = codec.content_hash({"kind": kind, "parameters": parameters, "format": FORMAT, **_plug_in(write)})
    folder = filled(cache_dir() / "www" / f"{kind}-{key}", _has_all_files, lambda into: _fill(into, write))
    record = json.loads((folder / _RECORD).read_text())
    return codec.decode(Content, {**record, "root": str(folder / "root")})


def _plug_in(write: Callable[..., object]) -> dict[str, str]:
    """Return the digest of the plug-in that defines `write`; nothing for ours, whose FORMAT is raised by hand."""
    file = inspect.getsourcefile(inspect.unwrap(write))
    if file is None or Path(file).is_relative_to(Path(longlook.__file__).parent):
        return {}
    return {"plug_in": source_digest(Path(file))}


def _fill(folder: Path, write: Callable[[Writer], tuple[tuple[str, ...], ...]]) -> None:
    (folder / "root").mkdir()  # flows of bare datagrams need no file
    writer = Writer(folder / "root")
    phases = write(writer)
    (folder / "root" / PRIME_PATH.removeprefix("/")).write_bytes(b"\n")
    record = {"phases": codec.encode(phases), "expected": codec.encode(writer.expected)}
    (folder / _RECORD).write_text(json.dumps(record, indent=1) + "\n")


def _has_all_files(folder: Path) -> bool:
    try:
        expected = json.loads((folder / _RECORD).read_text())["expected"]
        sizes = {path: (folder / "root" / path.removeprefix("/")).stat().st_size for path in (*expected, PRIME_PATH)}
    except (OSError, ValueError, KeyError):
        return False
    return sizes == {path: answer["bytes"] for path, answer in expected.items()} | {PRIME_PATH: 1}


def noise(seed: str, size_bytes: int) -> Iterator[bytes]:
    """Yield incompressible bytes that depend on `seed` alone, in blocks: SHAKE-256 of the seed and a block's number."""
    for number in range(-(-size_bytes // BLOCK_BYTES)):
        length = min(BLOCK_BYTES, size_bytes - number * BLOCK_BYTES)
        yield hashlib.shake_256(f"{seed}/{number}".encode()).digest(length)


def png(number: int, size_bytes: int) -> Iterator[bytes]:
    """Yield a valid PNG of exactly `size_bytes` bytes: one pixel whose colour is `number`, padded with its own noise.

    The padding comes before the pixel, so that nothing can be shown before all has arrived. Raise ValueError below
    PNG_OVERHEAD_BYTES.
    """
    padding_bytes = size_bytes - PNG_OVERHEAD_BYTES
    if padding_bytes < 0:
        raise ValueError(f"a PNG needs at least {PNG_OVERHEAD_BYTES} bytes, not {size_bytes}")
    yield _PNG_SIGNATURE + _png_chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    yield struct.pack(">I", padding_bytes) + _PADDING_CHUNK
    checksum = zlib.crc32(_PADDING_CHUNK)
    for block in noise(f"png {number}", padding_bytes):
        checksum = zlib.crc32(block, checksum)
        yield block
    yield struct.pack(">I", checksum) + _png_chunk(b"IDAT", _png_pixel(number)) + _png_chunk(b"IEND", b"")


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _png_pixel(number: int) -> bytes:
    """Return a zlib stream with one stored block, made by hand: compressors differ between builds of zlib."""
    row = b"\0" + (number & 0xFFFFFF).to_bytes(3, "big")
    return (
        b"\x78\x01\x01" + struct.pack("<HH", len(row), len(row) ^ 0xFFFF) + row + struct.pack(">I", zlib.adler32(row))
    )
