"""When a browser shows a page, by its own account."""

from collections.abc import Callable

from longlook.core import Better
from longlook.metrics import Metric
from longlook.timeline import Kind, Timeline


def _since_navigation(kind: Kind) -> Callable[[Timeline], float | None]:
    """Return what measures the seconds from navigation start to a paint; None if the browser showed nothing."""

    def measure(timeline: Timeline) -> float | None:
        started, painted = timeline.select(Kind.PAGE_STARTED), timeline.select(kind)
        if started.num_rows == 0 or painted.num_rows == 0:
            return None
        return float(painted["time_ns"][0].as_py() - started["time_ns"][0].as_py()) / 1e9

    return measure


METRICS = (
    Metric(
        name="first_contentful_paint",
        label="First contentful paint",
        unit="s",
        better=Better.LOWER,
        needs=(Kind.PAGE_STARTED, Kind.FIRST_CONTENTFUL_PAINT),
        measure=_since_navigation(Kind.FIRST_CONTENTFUL_PAINT),
        summary="Browser: navigation start to the first text or picture on the screen, as the browser's own Paint "
        "Timing has it (W3C). Frames come 60 times a second, so that values lie a frame apart. A page that shows "
        "nothing has none.",
    ),
    Metric(
        name="largest_contentful_paint",
        label="Largest contentful paint",
        unit="s",
        better=Better.LOWER,
        needs=(Kind.PAGE_STARTED, Kind.LARGEST_CONTENTFUL_PAINT),
        measure=_since_navigation(Kind.LARGEST_CONTENTFUL_PAINT),
        summary="Browser: navigation start to the paint of the largest text or picture that the load brought. "
        "It is the last entry of the browser's own Largest Contentful Paint (W3C), read four frames after the load "
        "event. Chromium counts the blanks between pictures as text.",
    ),
)
