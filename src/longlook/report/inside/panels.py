"""The panels of the figure, for the page and the exported one alike: their series, styles and units."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PanelLine:
    """A series in a panel. `style`: `step` (holds until the next), `thin`, `dash`, `points`, or `rate` (of bytes)."""

    series: str
    style: str
    label: str


@dataclass(frozen=True)
class Panel:
    """One axis of values over the shared time."""

    name: str
    title: str
    unit: str  # bytes, us or bit/s
    lines: tuple[PanelLine, ...]
    height: int  # CSS pixels
    about: str


PANELS = (
    Panel(
        "buffer",
        "Video in the buffer",
        "us",
        (PanelLine("buffer", "thin", "buffer"),),
        130,
        "what the player has and has not shown",
    ),
    Panel("rung", "Bitrate asked for", "bit/s", (PanelLine("rung", "step", "bitrate"),), 90, "of the segment's rung"),
    Panel(
        "window",
        "Congestion window",
        "bytes",
        (PanelLine("cwnd", "step", "window"), PanelLine("ssthresh", "dash", "slow-start threshold")),
        190,
        "as the sender's own trace gives it",
    ),
    Panel(
        "flight",
        "Bytes in flight",
        "bytes",
        (PanelLine("in_flight", "thin", "in flight"),),
        120,
        "as the sender counts",
    ),
    Panel(
        "rtt",
        "Round trip time",
        "us",
        (
            PanelLine("rtt", "points", "sample"),
            PanelLine("srtt", "step", "smoothed"),
            PanelLine("min_rtt", "dash", "least"),
        ),
        150,
        "as the sender measures it",
    ),
    Panel(
        "throughput",
        "Throughput at the link",
        "bit/s",
        (PanelLine("passed", "rate", "throughput"),),
        130,
        "IP bytes that left the link towards the receiver",
    ),
    Panel(
        "bytes",
        "Bytes acknowledged",
        "bytes",
        (PanelLine("acked", "step", "acknowledged"), PanelLine("delivered", "dash", "delivered by the link")),
        120,
        "so far; of UDP the link counts every payload as new",
    ),
    Panel("queue", "Queue at the link", "bytes", (PanelLine("queue", "thin", "queue"),), 120, "found by each packet"),
)

TRACKS = (
    ("viewer", "viewer", "what the viewer sees"),
    ("ledger", "time", "what the time of the load went on"),
    ("state", "state", "what the sender is doing"),
    ("app_limited", "idle", "limited by the application, as the stack logs it"),
    ("blocked", "blocked", "the sender ran into a flow-control, stream or buffer limit"),
    ("dropped", "dropped", "dropped by the link on the way to the receiver"),
    ("declared", "lost", "declared lost by the sender"),
    ("spurious", "spurious", "declared lost, but delivered"),
    ("probes", "timeouts", "probe and retransmission timeouts"),
)
"""Rows above the panels for each arm: name of the bands or marks, its short label, and what it means."""
