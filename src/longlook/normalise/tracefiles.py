"""Which raw traces a trial's folder holds."""

from dataclasses import dataclass
from pathlib import Path

from longlook.model import Vantage

QLOG, TCP, NETLOG = "qlog", "tcp", "netlog"
_ENDS = (Vantage.CLIENT, Vantage.SERVER)


@dataclass(frozen=True)
class RawTrace:
    """One file: its path below the trial's folder as `name`, who wrote it, and where."""

    path: Path
    name: str
    source: str
    vantage: str

    @property
    def transport(self) -> str:
        """Of its connections, as flows name it."""
        return "tcp" if self.source == TCP else "udp"


def raw_traces(folder: Path) -> list[RawTrace]:
    """Every trace below a trial's folder, in a stable order; empty files too."""
    found = []
    for end in _ENDS:
        found += [(path, QLOG, end) for path in sorted((folder / "qlog" / end).rglob("*")) if path.is_file()]
    found += [(folder / "tcp" / f"{end}.tcptrace", TCP, end) for end in _ENDS]
    found += [(folder / "netlog.json", NETLOG, Vantage.CLIENT)]
    return [
        RawTrace(path, str(path.relative_to(folder)), source, str(end)) for path, source, end in found if path.exists()
    ]
