"""Traces (qlog) that are complete at exit and stamped with the adapter's clock.

aioquic writes a trace when its connection has finished draining, three probe timeouts after its end; a client
that waited for that would take longer than its transfer. Its stamps are of a clock that may jump.
"""

import json
import os
from pathlib import Path
from typing import Any

from aioquic.quic.logger import QuicLogger, QuicLoggerTrace
from longlook_adapter.clock import now_ns


class _Trace(QuicLoggerTrace):  # type: ignore[misc]  # the linter does not see aioquic
    def __init__(self, *, is_client: bool, odcid: bytes) -> None:
        super().__init__(is_client=is_client, odcid=odcid)
        self.file_name = f"{odcid.hex()}_{'client' if is_client else 'server'}.qlog"
        self.written = False

    def log_event(self, *, category: str, event: str, data: dict[str, Any]) -> None:
        self._events.append({"data": data, "name": f"{category}:{event}", "time": now_ns() / 1e6})


class Traces(QuicLogger):  # type: ignore[misc]
    """All traces of a process, each in a file of its own in `folder`."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def start_trace(self, is_client: bool, odcid: bytes) -> _Trace:
        """Begin a trace; called by aioquic for every connection."""
        trace = _Trace(is_client=is_client, odcid=odcid)
        self._traces.append(trace)
        return trace

    def end_trace(self, trace: _Trace) -> None:
        """Write a trace; called by aioquic when nothing can follow."""
        if trace.written:
            return
        trace.written = True
        trace.log_event(category="connectivity", event="connection_closed", data={"owner": "local"})
        document = {"qlog_format": "JSON", "qlog_version": "0.3", "traces": [trace.to_dict()]}
        with (self._folder / trace.file_name).open("w") as file:
            json.dump(document, file)
        self._traces.remove(trace)

    def finish(self) -> None:
        """Write the traces that aioquic has not written."""
        for trace in list(self._traces):
            self.end_trace(trace)


def traces_wanted() -> Traces | None:
    """Return traces in the folder QLOGDIR; None where it is not set."""
    folder = os.environ.get("QLOGDIR")
    return Traces(Path(folder)) if folder else None
