"""The diverging palette of the heatmaps.

Its red and blue differ for deuteranopes and protanopes too (ColorBrewer's RdBu); symbols and signed numbers repeat what
colour shows.
"""

import math
from collections.abc import Sequence

from longlook.core import OF_TIMES, Agreement, Estimate, Verdict

CLIP_PCT = 100.0
"""Effects at or beyond ± this have the darkest colour; the number in the cell is never clipped."""

BETTER_STOPS = ("#fbe6da", "#f4a582", "#d6604d", "#9e1528")
WORSE_STOPS = ("#dfeaf4", "#92c5de", "#4393c3", "#1d4f8c")
NOT_SIGNIFICANT = "#ffffff"
NO_DATA = "#f0efec"

CONTENDER = "#b0293a"
BASELINE = "#2a6aa8"
INK = "#1c1b1a"
INK_SOFT = "#5f5c57"
PAPER = "#ffffff"
RULE = "#d9d6d0"

OTHER_ARMS = ("#23764b", "#8f6a00", "#6b4fa0", "#0f7c85", "#a8508a", "#5f5c57")
"""The colours of arms other than a contrast's two, in this order, from the start again if there are more."""

_LEGIBLE = 4.5

STATE_COLOURS = {
    "init": "#d5d1ca",
    "slow_start": "#7fbf7b",
    "congestion_avoidance": "#a6c8e4",
    "congestion_avoidance_maxed": "#4c86b8",
    "application_limited": "#f1e6c8",
    "recovery": "#f2a65e",
    "loss_probe": "#c77cc4",
    "timeout": "#a51d2d",
    "bbr_startup": "#3f9b58",
    "bbr_drain": "#8d7cc3",
    "bbr_probe_bandwidth": "#6fb3b8",
    "bbr_probe_rtt": "#e0c33c",
    "unknown": "#f2f0ec",
}
"""States of a sender (longlook.timeline.states); growth is green, avoidance blue, loss orange to red."""

VIEWER_COLOURS = {"waiting": "#c9bfe3", "playing": "#9ccdb2", "stalled": "#a51d2d"}
"""The states of a video as its viewer sees them (longlook.explain.inside.playback)."""

LEDGER_COLOURS = {
    "fallback": "#55407e",
    "handshake": "#8d7cc3",
    "request": "#c9bfe3",
    "server_think": "#4f9a76",
    "application": "#9ccdb2",
    "cpu": "#2d6a4f",
    "client_idle": "#b5c99a",
    "stream_ids": "#75902f",
    "congestion_window": "#f2a65e",
    "pacing": "#f6d998",
    "timer": "#a51d2d",
    "loss_detection": "#dd5b4b",
    "ack_wait": "#f4b3a6",
    "stream_credit": "#d39a1e",
    "connection_credit": "#8f5f12",
    "http2_stream_credit": "#c2701f",
    "http2_connection_credit": "#6e3d0c",
    "send_buffer": "#e3cf6b",
    "link_useful": "#8fbce0",
    "link_overhead": "#c6dcef",
    "link_waste": "#3f6f9e",
    "link_others": "#a7b0ba",
    "link_down": "#5c6670",
    "propagation": "#dcd9d2",
    "unexplained": "#1c1b1a",
}
"""Classes of a load's time (longlook.explain.ledger), in the order in which they are drawn: the way to the server is
violet, programs green, a sender that waits warm, the link blue and grey."""

WORK_COLOURS = {
    "cryptography": "#8d7cc3",
    "checking bodies": "#d9d2ee",
    "copying bytes": "#c77cc4",
    "sending calls": "#2f6f9f",
    "receiving calls": "#8fbce0",
    "device and interrupts": "#c6dcef",
    "waiting and waking": "#f2a65e",
    "other system calls": "#a7b0ba",
    "memory management": "#e3cf6b",
    "language runtime": "#9ccdb2",
    "protocol and program": "#3f9b58",
    "without a name": "#e4e1db",
}
"""Kinds of work that CPU time goes to (longlook.timeline.cpu_work): the kernel blue, programs green."""

RESULT_COLOURS = {
    Agreement.SAME_SIZE: "#23764b",
    Agreement.OTHER_SIZE: "#1f6f8b",
    Agreement.SAME_DIRECTION: "#4d7a1f",
    Agreement.NO_DIFFERENCE: "#4d7a1f",
    Agreement.WITHIN_BOUNDS: "#4d7a1f",
    Agreement.CONTRADICTED: "#a1340f",
    Agreement.OPEN: "#8a6d00",
    Agreement.NOT_TESTABLE: "#77736d",
    Agreement.NOT_RUN: "#77736d",
}
"""Green: a number with its size, blue: a number without its size, yellow-green: what has no size."""


def arm_colours(arms: Sequence[str], baseline: str | None = None, contender: str | None = None) -> dict[str, str]:
    """Return a colour for each arm: blue for the baseline, red for the contender, as everywhere, others for other
    arms.
    """
    known = {baseline: BASELINE, contender: CONTENDER}
    others = (arm for arm in arms if arm not in known)
    return {arm: known.get(arm, "") for arm in arms} | {
        arm: OTHER_ARMS[index % len(OTHER_ARMS)] for index, arm in enumerate(others)
    }


def cell_colour(item: Estimate) -> str:
    """Return the background of a cell: red if the contender is better, blue if it is worse, white otherwise.

    A difference has the colour of a ratio that is as many times as large as its margin (`full_scale`).
    """
    found = item.effect
    if found is None or item.verdict not in (Verdict.BETTER, Verdict.WORSE):
        return NOT_SIGNIFICANT
    if found.unit == "%":
        return effect_colour(found.value)
    end = full_scale(found.margin or 0.0)
    return effect_colour(CLIP_PCT * found.value / end if end else math.copysign(CLIP_PCT, found.value))


def full_scale(margin: float) -> float:
    """Return the difference that has the strongest colour: as many margins as 100 % is margins of times."""
    return margin * CLIP_PCT / OF_TIMES.size


def effect_colour(effect_pct: float) -> str:
    """Return the colour of a significant effect; even the smallest is visibly tinted."""
    stops = BETTER_STOPS if effect_pct >= 0 else WORSE_STOPS
    position = min(abs(effect_pct), CLIP_PCT) / CLIP_PCT * (len(stops) - 1)
    index = min(int(position), len(stops) - 2)
    return mix(stops[index], stops[index + 1], position - index)


def gradient() -> str:
    """Return the palette of effects from −100 to 100 % as a CSS gradient from left to right."""
    worse = [effect_colour(value) for value in (-100, -67, -34, -0.001)]
    better = [effect_colour(value) for value in (0, 34, 67, 100)]
    places = (0, 17, 33, 49, 51, 67, 83, 100)
    stops = [f"{colour} {place}%" for colour, place in zip(worse + better, places, strict=True)]
    return f"linear-gradient(to right, {', '.join(stops)})"


def text_colour(background: str) -> str:
    """Return the more legible of ink and paper on a background; black if neither is legible enough (WCAG 2, AA)."""
    best = max((INK, PAPER), key=lambda colour: contrast_ratio(colour, background))
    return best if contrast_ratio(best, background) >= _LEGIBLE else "#000000"


def mix(start: str, end: str, share: float) -> str:
    """Return a colour between two, 0 the first and 1 the second."""
    mixed = (round(a + (b - a) * share) for a, b in zip(_rgb(start), _rgb(end), strict=True))
    return "#" + "".join(f"{value:02x}" for value in mixed)


def contrast_ratio(one: str, other: str) -> float:
    """Return the WCAG 2 contrast of two colours, 1 to 21."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in _rgb(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
