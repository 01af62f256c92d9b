"""Which command reads what somebody handed over in the place of a run folder. Standard library only."""

from pathlib import Path

from longlook.core import files
from longlook.core.compressed_files import STANDARD_INPUT, is_packed

_BEGIN_BYTES = 65_536
_CAPTURES = (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x0a\x0d\x0d\x0a")
"""How captures begin: pcap in either order of bytes, with us or ns, and pcapng."""
_FILE = "{}"  # in the sentences below
_TRACE = "longlook trace show {} says what a trace has, and longlook infer {} how its sender went through its states"
_PAGE = "longlook study page {} says what a page load has"
_PACKETS = "longlook link export {} OUT.pcapng writes a packet log for Wireshark"
_STUDY = "longlook run {} runs a study"
_BUNDLE = "longlook verify {} checks a bundle; unzipped, it is a run folder"
_EVENTS = "longlook infer {} reads a trial's events"
_ANY = f"a trace: {_TRACE}; a page load: {_PAGE}"


def is_one(path: Path) -> bool:
    """Return whether a path is a file, or the folder of a trial, in the place of a run folder."""
    return path.is_file() or (path / "trial.json").is_file()


def is_trace(path: Path) -> bool:
    """Return whether a path is standard input, or a file that may be a trace of a transfer, by how it begins."""
    if path == STANDARD_INPUT:
        return True
    begin = _begin(path) if path.is_file() else b""
    reader = _reader(begin, path.name)
    return reader == _TRACE or (reader == _ANY and is_packed(begin)) or begin.startswith(_CAPTURES)


def reader_of(path: Path) -> str:
    """Return a hint: the command that reads this file, by its content, or the run folder of this trial's folder."""
    if path.is_dir():
        run = path.resolve().parents[1]
        return f"the run folder of this trial is {run}; longlook trace show {path} reads the trial alone"
    return _reader(_begin(path), path.name).replace(_FILE, str(path))


def _begin(path: Path) -> bytes:
    try:
        with files.open_named(path) as file:
            return file.read(_BEGIN_BYTES)
    except OSError:
        return b""


def _reader(begin: bytes, name: str) -> str:
    text = begin.lstrip(b"\xef\xbb\xbf\x1e \t\r\n")
    if is_packed(begin):
        return _PAGE if ".har" in name else _ANY
    if text.startswith(b"{"):
        is_page = b'"log"' in text and (b'"entries"' in text or b'"creator"' in text)
        return _PAGE if is_page else _TRACE
    known = ((b"LLTCP1\n", _TRACE), (b"PAR1", _EVENTS), (b"LLLINK", _PACKETS), (b"PK\x03\x04", _BUNDLE))
    if (found := next((reader for magic, reader in known if begin.startswith(magic)), None)) is not None:
        return found
    return _STUDY if name.endswith(".toml") else _ANY
