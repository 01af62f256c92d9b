"""The model's Link as the router's configuration (docs/reference/link-formats.md)."""

import json
import re
from collections.abc import Mapping
from typing import Any

from longlook.core import Json, Link, Stage, content_hash, encode
from longlook.network.varying import largest, resolved

_VERSION = 2
_SHORTEST_LINGER_NS = 50_000_000
_DELAYS = ("delay_ns", "jitter_ns", "wait_ns")
_A_TRACE = re.compile(r'\{\s*"trace": "(sha256:[0-9a-f]{64})"\s*\}')


def link_text(
    link: Link,
    seed: int,
    linger_ns: int,
    traces: Mapping[str, str] | None = None,
    *,
    phase_ns: int = 0,
    in_full: bool = True,
) -> str:
    """Return the JSON that `longlook-link run --config` reads.

    `seed` (0 ≤ seed < 2**64) determines every random draw. After SIGUSR1 the router stops once nothing has arrived for
    `linger_ns`. Schedules began `phase_ns` before the first packet. Traces stand in it in full: `traces` names their
    files by digest, the cache has the others. Without `in_full` they stay digests, and all is one line, which is made
    much faster of long schedules. The router checks kinds, keys and bounds of the stages and reports what is wrong.
    """
    config = {
        "version": _VERSION,
        "seed": seed,
        "linger_ns": linger_ns,
        **({"phase_ns": phase_ns} if phase_ns else {}),
        "up": encode(link.up),
        "down": encode(link.down),
    }
    text = json.dumps(config, indent=1 if in_full else None, sort_keys=True) + "\n"
    return with_traces(text, traces) if in_full else text


def with_traces(text: str, traces: Mapping[str, str] | None = None) -> str:
    """Return a configuration with its traces in full in the place of their digests.

    They go from their file into the text as they are: to read and write a long one takes tens of seconds, in every
    trial.
    """
    return _A_TRACE.sub(lambda found: _text(found[1], traces), text)


def seed_of(seed: int, link: str) -> int:
    """Return the seed of a further link of a trial with this seed; "" is the main link, whose seed is the trial's."""
    return int(content_hash(["link", seed, link], 15), 16) if link else seed


def link_config(link: Link, seed: int, linger_ns: int, traces: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the configuration of `link_text` as plain data."""
    config: dict[str, Any] = json.loads(link_text(link, seed, linger_ns, traces))
    return config


def linger_of(link: Link, traces: Mapping[str, str] | None = None) -> int:
    """Return how long silence must last before a link counts as empty, in ns.

    It is two longest round trips and the longest time for which a packet is held, at least 50 ms.
    """
    delays = (
        Stage(stage.kind, {name: value for name, value in stage.parameters.items() if name in _DELAYS})
        for stage in (*link.up, *link.down)
    )
    delays_ns = (
        largest(value)
        for stage in delays
        for value in resolved(stage, lambda digest: _load(digest, traces)).parameters.values()
    )
    return max(_SHORTEST_LINGER_NS, 2 * int(sum(delays_ns)) + _longest_hold_ns(link))


def _longest_hold_ns(link: Link) -> int:
    """Return the longest time for which surgery holds a packet, in ns; 0 if it holds none."""
    rows = (row for stage in (*link.up, *link.down) for row in stage.parameters.get("hold", ()))
    return max((held_ns for _, _, held_ns in rows), default=0)


def _load(digest: str, traces: Mapping[str, str] | None) -> Json:
    from longlook.network.trace_store import load  # few links have traces, and every trial would pay for the import

    return load(digest, traces)


def _text(digest: str, traces: Mapping[str, str] | None) -> str:
    from longlook.network.trace_store import load_text

    return load_text(digest, traces)
