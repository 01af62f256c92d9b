"""Find the raw traces in a trial's folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from longlook.core import files
from longlook.timeline.collectors import RECORDER

TraceVantage = Literal["client", "server"]

QLOG, TCP, NETLOG = "qlog", "tcp", "netlog"
_ENDS: tuple[TraceVantage, ...] = ("client", "server")


@dataclass(frozen=True)
class RawTrace:
    """One file: its path below the trial's folder as `name`, its writer, and its vantage."""

    path: Path
    name: str
    source: str
    vantage: TraceVantage

    @property
    def transport(self) -> str:
        """The transport of its connections, as flows name it."""
        return "tcp" if self.source == TCP else "udp"


def raw_traces(folder: Path) -> list[RawTrace]:
    """Return every trace below a trial's folder, in a stable order, including empty files."""
    found: list[tuple[Path, str, TraceVantage]] = []
    for end in _ENDS:
        found += [(path, QLOG, end) for path in sorted((folder / "qlog" / end).rglob("*"))]
    found += [(folder / "tcp" / f"{end}.tcptrace", TCP, end) for end in _ENDS]
    found += [(folder / "netlog.json", NETLOG, "client")]
    there = [each for each in found if files.is_regular(each[0])]
    return [RawTrace(path, str(path.relative_to(folder)), source, end) for path, source, end in there]


def trace_sizes(folder: Path) -> dict[str, int]:
    """Return the bytes of the traces below a trial's folder, by the collector that wrote them."""
    sizes: dict[str, int] = {}
    for trace in raw_traces(folder):
        name = {QLOG: f"qlog of the {trace.vantage}", TCP: RECORDER, NETLOG: "netlog"}[trace.source]
        sizes[name] = sizes.get(name, 0) + trace.path.stat().st_size
    return sizes
