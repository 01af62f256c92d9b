"""The router's configuration in a trial's folder: what its link was set to."""

from pathlib import Path
from typing import Any

from longlook.core import files
from longlook.core.links import BOTTLENECKS

LINK_FILE = "link.json"
Stages = dict[str, list[dict[str, Any]]]
"""Direction (`up`, `down`) → its stages in order, each with `kind` and `parameters`."""


def read_stages(path: Path) -> Stages:
    """Return the stages of each direction from the router's configuration; none if that cannot be read."""
    try:
        link = files.read_json(path)
        return {direction: list(link[direction]) for direction in ("up", "down")}
    except (OSError, ValueError, LookupError, TypeError):
        return {"up": [], "down": []}


def rtt_ns(link: Stages) -> int | None:
    """Return the round trip time without queues, or None if a delay varies."""
    delays = [stage["parameters"].get("delay_ns") for stage in (*link["up"], *link["down"]) if stage["kind"] == "delay"]
    return sum(delays) if all(isinstance(delay, int) for delay in delays) else None


def capacity(link: Stages, phase_ns: int) -> dict[str, Any] | None:
    """Return the rate towards the client: `steps` of (ns of link time, bit/s), and `repeat_ns` or null.

    Link time is `phase_ns`, which is absent if 0, at the first packet. None unless a single bottleneck has a rate that
    is known beforehand.
    """
    rates = [stage["parameters"]["rate_bps"] for stage in link["down"] if stage["kind"] in BOTTLENECKS]
    if len(rates) != 1:
        return None
    (rate,) = rates
    if isinstance(rate, int | float):
        return {"steps": [[0, rate]], "repeat_ns": None}
    if isinstance(rate, dict) and "steps" in rate:
        phase = {"phase_ns": phase_ns} if phase_ns else {}
        return {"steps": rate["steps"], "repeat_ns": rate.get("repeat_ns"), **phase}
    return None
