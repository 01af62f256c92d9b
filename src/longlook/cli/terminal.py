"""Standard output for people, for pipes and for machines."""

import json
import sys
from typing import Any

from rich.console import Console

PIPE_COLUMNS = 200
"""Width of tables where standard output is no terminal, so that rows stay lines."""


def console() -> Console:
    """Return a console with colour and the terminal's width, or plain and wide in a pipe."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_COLUMNS)


def print_json(data: Any) -> None:
    """Print one JSON document on standard output."""
    sys.stdout.write(json.dumps(data, indent=1, allow_nan=False) + "\n")
