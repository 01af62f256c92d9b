"""A trial's packet log as pcapng, with the TLS secrets of its connections if they were kept."""

import json
import struct
from pathlib import Path

from longlook.core import InputError, ask_link, files

_SECTION_HEADER, _DECRYPTION_SECRETS = 0x0A0D0D0A, 0x0000000A
_TLS_KEY_LOG = 0x544C534B
"""The type of a Decryption Secrets Block with secrets in the format of NSS's key log (draft-ietf-opsawg-pcapng)."""


def write(log: Path, keys: Path | None, out: Path) -> int:
    """Write a capture file of a packet log and return its number of packets. Raise InputError if it is not a log."""
    answer = json.loads(ask_link("pcapng", str(log), str(out)).splitlines()[-1])
    if keys is not None and (secrets := files.read_bytes(keys)):
        capture = out.read_bytes()
        kind, length_bytes = struct.unpack_from("<II", capture)
        if kind != _SECTION_HEADER:
            raise InputError(f"{out}: the capture does not begin with a section", "build again: make build")
        # Secrets stand before the packets that they open.
        out.write_bytes(capture[:length_bytes] + _secrets_block(secrets) + capture[length_bytes:])
    return int(answer["packets"])


def _secrets_block(secrets: bytes) -> bytes:
    padding = b"\0" * (-len(secrets) % 4)
    total_bytes = 20 + len(secrets) + len(padding)
    front = struct.pack("<IIII", _DECRYPTION_SECRETS, total_bytes, _TLS_KEY_LOG, len(secrets))
    return front + secrets + padding + struct.pack("<I", total_bytes)
