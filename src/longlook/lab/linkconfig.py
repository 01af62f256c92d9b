"""The model's Link as the router's configuration (docs/link-formats.md)."""

from typing import Any

from longlook.model import Link, Stage

_VERSION = 2


def link_config(link: Link, seed: int, linger_ns: int) -> dict[str, Any]:
    """What `longlook-link run --config` reads, ready for `json.dump`.

    `seed` (0 ≤ seed < 2**64) determines every random draw. After SIGUSR1 the router stops once nothing has arrived for
    `linger_ns`. The router checks kinds, keys and bounds of the stages and says what is wrong with them.
    """
    return {
        "version": _VERSION,
        "seed": seed,
        "linger_ns": linger_ns,
        "up": [_stage(stage) for stage in link.up],
        "down": [_stage(stage) for stage in link.down],
    }


def _stage(stage: Stage) -> dict[str, Any]:
    return {"kind": stage.kind, "parameters": dict(stage.parameters)}
