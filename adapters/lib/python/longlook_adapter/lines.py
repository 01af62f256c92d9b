"""Standard output: JSON lines and nothing else."""

import json
import sys
from typing import Any


def emit(event: str, **keys: Any) -> None:
    """Print one line of the contract and flush it."""
    sys.stdout.write(json.dumps({"event": event, **keys}, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def emit_error(reason: str, *, supported: bool = True) -> None:
    """Print an `error` line; `supported` is False where this stack can never do it."""
    if supported:
        emit("error", reason=reason)
    else:
        emit("error", reason=reason, supported=False)


def endpoint(address: tuple[Any, ...]) -> str:
    """Return `ip:port` of a socket's address."""
    return f"[{address[0]}]:{address[1]}" if ":" in address[0] else f"{address[0]}:{address[1]}"
