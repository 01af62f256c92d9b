"""The model's Link as the router's configuration (docs/link-formats.md)."""

from collections.abc import Mapping
from typing import Any

from longlook.codec import encode
from longlook.model import Json, Link, Stage
from longlook.network_varying import largest, resolved

_VERSION = 2
_SHORTEST_LINGER_NS = 50_000_000


def link_config(link: Link, seed: int, linger_ns: int, traces: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What `longlook-link run --config` reads, ready for `json.dump`.

    `seed` (0 ≤ seed < 2**64) determines every random draw. After SIGUSR1 the router stops once nothing has arrived for
    `linger_ns`. Traces stand in it in full: `traces` names their files by digest, the cache has the others. The router
    checks kinds, keys and bounds of the stages and says what is wrong with them.
    """
    return {
        "version": _VERSION,
        "seed": seed,
        "linger_ns": linger_ns,
        "up": [_stage(stage, traces) for stage in link.up],
        "down": [_stage(stage, traces) for stage in link.down],
    }


def linger_of(link: Link, traces: Mapping[str, str] | None = None) -> int:
    """How long silence must last before a link counts as empty: two longest round trips, never less than 50 ms."""
    delays_ns = (
        largest(value)
        for stage in (*link.up, *link.down)
        for name, value in _full(stage, traces).parameters.items()
        if name in ("delay_ns", "jitter_ns", "wait_ns")
    )
    return max(_SHORTEST_LINGER_NS, 2 * int(sum(delays_ns)))


def _stage(stage: Stage, traces: Mapping[str, str] | None) -> dict[str, Any]:
    return {"kind": stage.kind, "parameters": encode(_full(stage, traces).parameters)}


def _full(stage: Stage, traces: Mapping[str, str] | None) -> Stage:
    return resolved(stage, lambda digest: _load(digest, traces))


def _load(digest: str, traces: Mapping[str, str] | None) -> Json:
    from longlook.traces_store import load  # few links have traces, and every trial would pay for the import

    return load(digest, traces)
