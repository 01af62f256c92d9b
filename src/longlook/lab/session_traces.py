"""The traces of a session client for one trial, taken out of files that cover all its trials.

Standard error and TLS secrets are cut where the files ended when the trial began; traces of connections (qlog) are
those that are new; a browser's netlog is cut at whole events. Chromium writes it 15 events at a time, so a trial's last
few are in the next one's file: each event has its time, by which a decoder assigns it.
The files lie where the client can do with them what it likes, so only regular ones are read.
"""

import shutil
from pathlib import Path

from longlook.core.files import is_regular, open_regular
from longlook.lab.linux.trees import entries
from longlook.lab.session import Session
from longlook.lab.traces import DEEPEST_OF_SESSION

NETLOG = "netlog.json"
_EVENTS = b'"events": [\n'
_HEADER_BYTES = 4 << 20


class SessionTraces:
    """Remembers where a session client's files end when a trial begins; `copy_to` takes the trial's part."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._ends = {file: _size(file) for file in self._growing()}
        self._old = set(self._connections())

    def copy_to(self, folder: Path) -> None:
        """Copy the trial's part of every file into its folder."""
        session = self._session
        _copy_from(session.stderr, self._ends.get(session.stderr, 0), folder / "client.stderr")
        if session.keylog is not None:
            _copy_from(session.keylog, self._ends.get(session.keylog, 0), folder / "keys.log")
        if session.capture.netlog and (netlogs := self._netlogs()):
            grown = {file: _size(file) - self._ends.get(file, 0) for file in netlogs}
            used = max(netlogs, key=lambda file: grown[file])
            cut_netlog(used, self._ends.get(used, 0), folder / NETLOG)
        if session.capture.qlog:
            target = folder / "qlog" / "client"
            target.mkdir(parents=True, exist_ok=True)
            for file in self._connections():
                if file not in self._old:
                    _copy_from(file, 0, target / file.name)

    def _growing(self) -> list[Path]:
        named = [self._session.stderr, self._session.keylog, *self._netlogs()]
        return [file for file in named if file is not None]

    def _netlogs(self) -> list[Path]:
        return sorted(file for file in self._session.netlogs.glob("*.json") if is_regular(file))

    def _connections(self) -> list[Path]:
        folder = self._session.folder
        files = [Path(entry.path) for entry in entries(folder, DEEPEST_OF_SESSION) if entry.is_file]
        return [folder / file for ending in (".qlog", ".sqlog") for file in files if file.suffix == ending]


def cut_netlog(source: Path, begin: int, target: Path) -> None:
    """Write a complete netlog: the constants of `source`, and its events from the byte `begin` to its end.

    `begin` may lie in the middle of an event, which then counts; an event without its end is left out. Nothing is
    written where the source has no events yet.
    """
    with open_regular(source) as whole:
        head, found, _ = whole.read(_HEADER_BYTES).partition(_EVENTS)
        if not found:
            return
        first = len(head) + len(found)
        whole.seek(first)
        skipped = whole.read(max(0, begin - first))
        whole.seek(first + skipped.rfind(b"\n") + 1)
        complete, _, _ = whole.read().rpartition(b"\n")
    events = complete.rstrip(b",\n")
    target.write_bytes(head + found + events + b"\n]}\n")


def _size(path: Path) -> int:
    return path.stat().st_size if is_regular(path) else 0


def _copy_from(source: Path, offset: int, target: Path) -> None:
    if not is_regular(source):
        return
    with open_regular(source) as whole, target.open("wb") as part:
        whole.seek(offset)
        shutil.copyfileobj(whole, part)
