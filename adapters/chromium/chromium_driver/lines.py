"""Standard output: JSON lines and nothing else."""

import json
import sys
from typing import Any


def emit(event: str, **keys: Any) -> None:
    """Print one line of the contract and flush it."""
    sys.stdout.write(json.dumps({"event": event, **keys}, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def emit_error(reason: str, *, supported: bool = True) -> None:
    """Print an `error` line; `supported` is False for what this client can never do."""
    if supported:
        emit("error", reason=reason)
    else:
        emit("error", reason=reason, supported=False)
