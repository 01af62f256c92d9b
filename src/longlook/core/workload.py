"""The type of workloads: kinds of transfer, one file per kind, each defining WORKLOAD.

`prepare` makes the files once per content (cached by digest below the cache folder) and returns what to request.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from longlook.core.job import Content
from longlook.core.model import Scalar

ORDERS = 1000
"""The number of orders of requests of a workload that has the parameter `order`."""

PICTURES: Mapping[str, tuple[int, int]] = {
    "tiny": (256, 144),
    "medium": (640, 360),
    "hd720": (1280, 720),
    "hd1080": (1920, 1080),
    "hd2160": (3840, 2160),
}
"""Width and height that a rung of that name stands for, in pixels; no file holds a picture."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a workload.

    `kind` is `size` (bytes, written 30KB), `rate` (bit/s, written 4Mbit), `count`, `time` (seconds), `text`, `start` (a
    time or random(TIME)), or `payloads` (sizes of datagrams, `core.echoes`).
    """

    kind: str
    help: str
    default: Scalar | None = None  # None: required
    minimum: float | None = None
    maximum: float | None = None
    omitted_at_default: bool = False  # then a trial does not mention it, so that older trials keep their ids
    optional: bool = False  # a trial has it only where it is set


@dataclass(frozen=True)
class WorkloadKind:
    """A kind of workload.

    Names of sizes end in `_bytes`, of rates in `_bps` and of times in `_s`; study files leave the ending out.
    """

    name: str
    summary: str
    parameters: Mapping[str, Parameter]
    prepare: Callable[[Mapping[str, Scalar]], Content]
    competes: bool = False  # its arms have `flows`, each of which fetches its own objects
    uploads: bool = False  # its client sends files; the data's sender is the client
    plays: bool = False  # its client plays a video
    echoes: bool = False  # its client sends datagrams that its server answers with the same
    live: bool = False  # its server produces frames by the clock, whatever the path takes
    at_once: bool = False  # its files are asked for at once, unless a parameter of that name groups them
