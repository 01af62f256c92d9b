"""Files that are packed, and standard input in the place of a file: the same as the file itself, within bounds."""

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from longlook.cli.commands import app
from longlook.core import compressed_files
from longlook.core.errors import InputError
from longlook.instruments.infer.sources import read_sets
from longlook.network.trace_store import read_trace
from longlook.network.traces import TraceError
from longlook.provision.recorded.har import HarError, read_har
from longlook.timeline.decode import decode_trace
from tests.data.decoded import document, lines, packet, sequence
from tests.data.recordings import archive, recorded


def zstd(data: bytes) -> bytes:
    made: bytes = pa.compress(data, codec="zstd", asbytes=True)
    return made


PACKERS: dict[str, Callable[[bytes], bytes]] = {"plain": bytes, "gzip": gzip.compress, "zstd": zstd}
TRACE = sequence(packet(1, "sent", 0), packet(2, "sent", 1))
LOG = b"trace,time_ns,event\nx,0,init\nx,10,slow_start\nx,50,\ny,0,init\ny,9,\n"
TABLE = b"t,mbps\n0,5\n1,6\n2,7\n"


@pytest.fixture(params=PACKERS.values(), ids=PACKERS)
def pack(request: pytest.FixtureRequest) -> Callable[[bytes], bytes]:
    """Names of the files do not say how they are packed."""
    packer: Callable[[bytes], bytes] = request.param
    return packer


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_a_trace_is_read_however_it_is_packed(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    table, account = decode_trace(put(tmp_path / "a", pack(TRACE)), "server")
    assert (table.num_rows, account["read"], account["bytes"], account["truncated"]) == (2, 2, len(TRACE), False)


def test_parts_that_are_packed_one_by_one_are_one_trace(tmp_path: Path) -> None:
    whole = b"".join(zstd(bytes([byte]) * 1) for byte in TRACE)
    assert decode_trace(put(tmp_path / "a", whole), "server")[1]["read"] == 2


@pytest.mark.parametrize("packer", [gzip.compress, zstd])
def test_a_trace_that_is_cut_while_packed_is_read_up_to_the_cut(tmp_path: Path, packer: Any) -> None:
    long = sequence(*(packet(number, "sent", number) for number in range(40_000)))
    path = put(tmp_path / "a", packer(long)[:-2000])
    _, account = decode_trace(path, "server")
    assert account["truncated"]
    assert any("the file is cut" in warning["problem"] for warning in account["warnings"])
    assert 0 < account["read"] < 40_000


def test_a_bomb_is_read_up_to_its_bound_and_said(tmp_path: Path) -> None:
    """1.3 GB of blanks in a file of 130 KB."""
    blanks = pa.BufferOutputStream()
    with pa.CompressedOutputStream(blanks, "zstd") as stream:
        stream.write(lines(packet(1, "sent", 0), packet(2, "sent", 1)))
        block = b" " * (1 << 26)
        for _ in range(20):
            stream.write(block)
    path = put(tmp_path / "a", blanks.getvalue().to_pybytes())
    assert path.stat().st_size < 1 << 20
    _, account = decode_trace(path, "server")
    assert (account["read"], account["truncated"]) == (2, True)
    assert any("it unpacks to more than 1073741824 bytes" in warning["problem"] for warning in account["warnings"])


def test_a_page_is_read_however_it_is_packed(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    plain = json.dumps(archive([recorded("/")])).encode()
    assert read_har(put(tmp_path / "a", pack(plain))) == read_har(put(tmp_path / "b", plain))


def test_logs_and_machines_are_read_however_they_are_packed(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    (plain,) = read_sets([str(put(tmp_path / "a.csv", LOG))])
    (found,) = read_sets([str(put(tmp_path / "a", pack(LOG)))])
    assert found.traces is not None
    assert plain.traces is not None
    assert found.traces.to_pylist() == plain.traces.to_pylist()
    rows = b"".join(b'{"trace":"x","time_ns":%d,"event":"%s"}\n' % row for row in ((0, b"init"), (5, b"recovery")))
    (of_lines,) = read_sets([str(put(tmp_path / "b.jsonl.zst", pack(rows)))])
    assert (of_lines.title, of_lines.traces is not None and of_lines.traces.num_rows) == ("b", 2)
    done = CliRunner().invoke(app, ["infer", str(tmp_path / "a.csv"), "--format", "json", "--out", str(tmp_path / "m")])
    assert done.exit_code == 0, done.output
    machine = (tmp_path / "m" / "a.json").read_bytes()
    (again,) = read_sets([str(put(tmp_path / "machine", pack(machine)))])
    assert again.machine is not None


def test_a_table_of_a_link_is_read_however_it_is_packed(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    plain = b"# KEEP,LATENCY,RATE,LOSS,LIMIT\n1000000,10000000,5000000,0,0\n"
    assert read_trace(put(tmp_path / "a", pack(plain)), "rate") == read_trace(put(tmp_path / "b", plain), "rate")


@pytest.mark.parametrize("packer", [gzip.compress, zstd])
def test_what_is_too_long_when_unpacked_is_refused_everywhere(tmp_path: Path, packer: Any) -> None:
    path = put(tmp_path / "bomb", packer(b" " * (65 << 20)))
    with pytest.raises(HarError, match="is over 67108864 bytes long when it is unpacked"):
        read_har(path)
    with pytest.raises(TraceError, match="is over 67108864 bytes long when it is unpacked"):
        read_trace(path, "rate")


@pytest.mark.parametrize("packer", [gzip.compress, zstd])
def test_what_is_damaged_is_refused_with_what_to_do(tmp_path: Path, packer: Any) -> None:
    path = put(tmp_path / "cut", packer(TABLE * 1000)[:-9])
    with pytest.raises(InputError, match="cut cannot be unpacked") as caught:
        compressed_files.read_unpacked(path, 1 << 20)
    assert caught.value.hint


def test_how_packed_files_begin() -> None:
    for packer in (gzip.compress, zstd):
        assert compressed_files.is_packed(packer(b"text"))
    assert compressed_files.is_packed(b"\x50\x2a\x4d\x18")
    assert not any(compressed_files.is_packed(head) for head in (b"", b"\x1f", b"{", b"PAR1", b"\x40\x2a\x4d\x18"))


def piped(data: bytes, *arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments), input=data)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.output


def test_every_command_that_reads_a_trace_reads_standard_input(
    tmp_path: Path, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    assert piped(pack(TRACE), "trace", "show", "-") == snapshot
    piped(pack(TRACE), "trace", "convert", "-", "--to", "csv", "--out", str(tmp_path / "x.csv"))
    assert (tmp_path / "x.csv").read_text().count("packet_sent") == 2
    out = ("--format", "json", "--out", str(tmp_path / "machines"))
    assert "2" in piped(pack(LOG), "infer", "-", *out)
    assert [path.name for path in (tmp_path / "machines").iterdir()] == ["standard-input.json"]
    piped(pack(TABLE), "link", "import", "-", str(tmp_path / "l.csv"), "--rate", "mbps", "--time", "t")
    assert len((tmp_path / "l.csv").read_text().splitlines()) == 4
    page = json.dumps(archive([recorded("/")])).encode()
    assert "1 object" in piped(pack(page), "study", "page", "-")


@pytest.mark.parametrize(
    ("command", "data", "said"),
    [
        (("trace", "show", "-"), b"", "standard input is empty"),
        (("trace", "show", "-"), b"hello", "standard input is not a trace"),
        (("infer", "-"), b"hello", "standard input is not a trace"),
        (("study", "page", "-"), b"hello", "standard input: not JSON"),
        (("link", "import", "-", "o.csv", "--rate", "x"), b"a,b\n1,2\n", "standard input: no column 'x'"),
        (
            ("trace", "convert", "-", "--to", "har", "--out", "x.har"),
            document(),
            "-: has no page load to make a HAR of",
        ),
    ],
)
def test_messages_about_standard_input_call_it_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], data: bytes, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, list(command), input=data)
    assert isinstance(done.exception, InputError)
    assert done.exception.message.startswith(said)
    assert done.exception.hint
    assert list(tmp_path.iterdir()) == []


def test_standard_input_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    for size, fits in ((10, True), (11, False)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x" * size)))
        if fits:
            with compressed_files.as_file(compressed_files.STANDARD_INPUT, 10) as path:
                assert path.read_bytes() == b"x" * size
        else:
            with (
                pytest.raises(InputError, match="standard input is over 10 bytes long"),
                compressed_files.as_file(Path("-"), 10),
            ):
                pass


def test_a_terminal_is_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.BytesIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Terminal()))
    with pytest.raises(InputError, match="standard input is a terminal"), compressed_files.as_file(Path("-")):
        pass
