"""`longlook trace` on a real packet log: what reaches Wireshark, with the secrets that were kept."""

import struct
from pathlib import Path

from tests.data.trials import packet, records, write_link_log
from tests.support.command_line import Answer, call_longlook


def blocks(capture: bytes) -> list[int]:
    """Kinds of the blocks of a pcapng file, each of which must end with its own length."""
    found, place = [], 0
    while place < len(capture):
        kind, length = struct.unpack_from("<II", capture, place)
        assert struct.unpack_from("<I", capture, place + length - 4) == (length,)
        found.append(kind)
        place += length
    return found


def convert(*arguments: str) -> Answer:
    return call_longlook("trace", "convert", *arguments)


def test_a_capture_has_the_secrets_before_its_packets(tmp_path: Path) -> None:
    write_link_log(tmp_path / "link.bin", records([packet(0, 20)]))
    out = tmp_path / "out.pcapng"
    done = convert(str(tmp_path), "--to", "pcapng", "--out", str(out))
    assert (done.returncode, 10 in blocks(out.read_bytes())) == (0, False), done.stderr
    (tmp_path / "keys.log").write_text("CLIENT_RANDOM 00 11\n")
    done = convert(str(tmp_path), "--to", "pcapng", "--out", str(out))
    assert "TLS secrets" in done.stdout
    assert blocks(out.read_bytes())[:2] == [0x0A0D0D0A, 10]


def test_a_folder_that_is_not_a_trial_is_refused(tmp_path: Path) -> None:
    done = convert(str(tmp_path), "--to", "pcapng", "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    assert "no packet log" in done.stderr and "RUN/trials/ID" in done.stderr
