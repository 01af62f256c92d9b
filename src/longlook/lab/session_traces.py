"""The traces of a session client for one trial, taken out of files that cover all its trials.

Standard error and TLS secrets are cut where the files ended when the trial began; traces of connections (qlog) belong
to the trial if they are new; a browser's netlog is cut at whole events. Chromium writes it 15 events at a time, so a
trial's last few are in the next one's file: each event has its time, by which a decoder assigns it. The client still
runs and may do anything with its folder. So only regular files are read, and no link is followed, even if a link takes
a folder's place meanwhile; no more is read than a file had when it was opened.
"""

import os
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path

from longlook.core import open_below, open_regular
from longlook.lab import limits
from longlook.lab.linux.trees import entries
from longlook.lab.session import ClientSession

NETLOG = "netlog.json"
_CONNECTIONS = (".qlog", ".sqlog")
_EVENTS = b'"events": [\n'
_HEADER_BYTES = 4 << 20
_AT_ONCE_BYTES = 1 << 20


class SessionTraces:
    """Remembers where a session client's files end when a trial begins; `copy_to` takes the trial's part."""

    def __init__(self, session: ClientSession) -> None:
        self._session = session
        self._before = self._sizes()
        self._stderr_before = session.stderr.stat().st_size

    def copy_to(self, folder: Path) -> None:
        """Copy the trial's part of every file into its folder."""
        session, sizes = self._session, self._sizes()
        with open_regular(session.stderr) as stderr:  # it lies out of the client's reach
            _copy(stderr, self._stderr_before, folder / "client.stderr")
        if session.keylog is not None:
            self._copy_from(self._name(session.keylog), folder / "keys.log")
        if session.capture.netlog and (netlogs := self._netlogs(sizes)):
            used = max(netlogs, key=lambda name: sizes[name] - self._before.get(name, 0))
            cut_netlog(session.folder, used, self._before.get(used, 0), folder / NETLOG)
        if session.capture.qlog:
            target = folder / "qlog" / "client"
            target.mkdir(parents=True, exist_ok=True)
            for name in sizes:
                if name.endswith(_CONNECTIONS) and name not in self._before:
                    self._copy_from(name, target / Path(name).name)

    def _copy_from(self, name: str, target: Path) -> None:
        try:
            whole = open_below(self._session.folder, name)
        except OSError:  # there is no regular file of that name, or none any more
            return
        with whole:
            _copy(whole, self._before.get(name, 0), target)

    def _sizes(self) -> dict[str, int]:
        """Return the sizes of all regular files in the client's folder by their relative paths, in order."""
        found = entries(self._session.folder, limits.SESSION_DEPTH)
        return {entry.path: entry.state.st_size for entry in found if entry.is_file}

    def _netlogs(self, sizes: Mapping[str, int]) -> list[str]:
        place = self._name(self._session.netlogs)
        return [name for name in sizes if name.endswith(".json") and name.rpartition("/")[0] == place]

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self._session.folder))


def cut_netlog(folder: Path, name: str, begin: int, target: Path) -> None:
    """Write a complete netlog: the constants of the one below a folder, and its events from byte `begin` to its end.

    `begin` may lie in the middle of an event, which then counts; an event without its end is left out. Nothing is
    written if the netlog has no events yet, or is no regular file any more.
    """
    try:
        whole = open_below(folder, name)
    except OSError:
        return
    with whole:
        size = os.fstat(whole.fileno()).st_size
        head, found, _ = whole.read(_HEADER_BYTES).partition(_EVENTS)
        if not found:
            return
        first = len(head) + len(found)
        begin = _begin_of_event(whole, first, max(first, min(begin, size)))
        whole.seek(begin)
        complete, _, _ = whole.read(min(size - begin, limits.KEPT_BYTES)).rpartition(b"\n")
    events = complete.rstrip(b",\n")
    target.write_bytes(head + found + events + b"\n]}\n")


def _begin_of_event(whole: BufferedReader, first: int, place: int) -> int:
    """Return where the line that `place` lies in begins; lines begin at `first`."""
    while place > first:
        chunk = max(first, place - _AT_ONCE_BYTES)
        whole.seek(chunk)
        if (found := whole.read(place - chunk).rfind(b"\n")) >= 0:
            return chunk + found + 1
        place = chunk
    return first


def _copy(whole: BufferedReader, offset: int, target: Path) -> None:
    """Copy what a file has from an offset on by now: its program may add to it as fast as it is read."""
    left = os.fstat(whole.fileno()).st_size - offset
    whole.seek(offset)
    with target.open("wb") as part:
        while left > 0 and (data := whole.read(min(left, _AT_ONCE_BYTES))):
            part.write(data)
            left -= len(data)
