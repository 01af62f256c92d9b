"""When a browser first showed contents of a page, and when the largest of them: Paint Timing and Largest Contentful
Paint of the W3C, as the browser's own entries have them.
"""

import json
from dataclasses import dataclass
from typing import Any

LIMIT_S = 5.0
"""The longest that a browser may take to answer `PAINTS`."""

PAINTS = """new Promise(done => {
  const frames = 4;  // after the load event: one has shown what the load brought in every load that was looked at
  const longestMs = 1000;  // a page that is not shown has no frames
  const times = {};
  const observer = new PerformanceObserver(list => {
    for (const {entryType, name, startTime} of list.getEntries()) {
      times[entryType === "paint" ? name : entryType] = startTime;
    }
  });
  for (const type of ["paint", "largest-contentful-paint"]) {
    if (PerformanceObserver.supportedEntryTypes.includes(type)) observer.observe({type, buffered: true});
  }
  function end() { done(JSON.stringify(times)); }
  function frame(left) { if (left) requestAnimationFrame(() => frame(left - 1)); else setTimeout(end); }
  frame(frames);
  setTimeout(end, longestMs);
})"""
"""JavaScript for the page, after its load event: a promise of what `Paints.read` takes."""


@dataclass(frozen=True)
class Paints:
    """Milliseconds since the navigation began; None where nothing was shown, or where the browser does not say."""

    first_contentful_ms: float | None = None
    largest_contentful_ms: float | None = None

    @classmethod
    def read(cls, text: Any) -> "Paints":
        """Return what a page answered to `PAINTS`. Of several largest paints it is the last one."""
        times = json.loads(text)
        return cls(times.get("first-contentful-paint"), times.get("largest-contentful-paint"))
