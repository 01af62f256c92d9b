"""Whether the router takes a link: the router checks it itself, before anything runs.

So the bounds of parameters, and what a stage demands of several together, are written once, where the stage is.
"""

import json
import subprocess
from dataclasses import dataclass
from functools import lru_cache

from longlook.core import Link, MachineError, link_program
from longlook.network.config import link_text, with_traces

_MOST_LINKS = 4096
_TIMEOUT_S = 60


@dataclass(frozen=True)
class Violation:
    """A refusal by the router: a stage of one direction, and the parameter if a single parameter is wrong."""

    direction: str
    stage: int
    parameter: str | None
    message: str


def violation_of(link: Link) -> Violation | None:
    """Return the first thing about a link that the router refuses, or None if it takes the link.

    The program is started once for each distinct link. Raise MachineError if it is missing or cannot check links.
    """
    return _violation_of(link_text(link, seed=0, linger_ns=0, in_full=False))


@lru_cache(_MOST_LINKS)
def _violation_of(text: str) -> Violation | None:
    """`text` is a configuration whose traces are digests, so that the cache stays small."""
    program = link_program()
    done = subprocess.run(
        [program.path, "check"],
        input=with_traces(text),
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT_S,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    answer = lines[-1] if lines else {}
    if done.returncode == 0 and answer.get("event") == "accepted":
        return None
    if answer.get("direction") is None or answer.get("stage") is None:
        reason = answer.get("reason") or done.stderr.strip()
        raise MachineError(f"the link emulator {program.path} cannot check a link: {reason}", "make build")
    return Violation(answer["direction"], answer["stage"], answer.get("parameter"), answer["problem"])
