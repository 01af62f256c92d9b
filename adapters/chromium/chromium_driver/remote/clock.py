"""The other machine's monotonic clock on ours: read before and after a load, and refused where the two disagree.

A call that returns the browser's clock was answered somewhere between its start and its end here. The quickest of
several bounds the difference best (Cristian 1989, Probabilistic clock synchronization). The wall clocks of the two
machines are never compared: a phone's date may be wrong by years.
"""

import asyncio
import time
from dataclasses import dataclass

from chromium_driver.remote.errors import ElsewhereError
from chromium_driver.tab import Load, Tab

READINGS = 10
_MOST_DRIFT = 200e-6
"""How much faster one quartz may run than the other, of the time between two readings."""
_MOST_UNCERTAIN_S = 0.05
_ANSWER_LIMIT_S = 5.0


@dataclass(frozen=True)
class Reading:
    """Ours minus theirs, in seconds, within ± `uncertainty_s`, at a time of our clock."""

    ahead_s: float
    uncertainty_s: float
    at_s: float


async def read(tab: Tab) -> Reading:
    """Return the difference of the clocks now; ElsewhereError where the browser does not answer."""
    try:
        async with asyncio.timeout(_ANSWER_LIMIT_S):
            await tab.call("Performance.enable")
            readings = [await _read_once(tab) for _ in range(READINGS)]
            await tab.call("Performance.disable")
    except TimeoutError as error:
        raise ElsewhereError(f"the browser does not answer for {_ANSWER_LIMIT_S:g} s: has it gone?") from error
    return min(readings, key=lambda reading: reading.uncertainty_s)


async def _read_once(tab: Tab) -> Reading:
    asked_s = time.monotonic()
    answer = await tab.call("Performance.getMetrics")
    answered_s = time.monotonic()
    theirs = next((each["value"] for each in answer["metrics"] if each["name"] == "Timestamp"), None)
    if theirs is None:
        raise ElsewhereError("the browser does not report its clock: it is too old, or of another kind")
    return Reading((asked_s + answered_s) / 2 - theirs, (answered_s - asked_s) / 2, answered_s)


def agree(before: Reading, after: Reading) -> Reading:
    """Return the better of two readings around a load; ElsewhereError where the clock moved between them."""
    allowed_s = before.uncertainty_s + after.uncertainty_s + _MOST_DRIFT * (after.at_s - before.at_s)
    moved_s = after.ahead_s - before.ahead_s
    if abs(moved_s) > allowed_s:
        raise ElsewhereError(
            f"the clock of the browser's machine moved by {moved_s * 1e3:+.1f} ms against this one's during the load, "
            f"more than the {allowed_s * 1e3:.1f} ms that readings and quartzes explain: was it suspended?"
        )
    best = min(before, after, key=lambda reading: reading.uncertainty_s)
    if best.uncertainty_s > _MOST_UNCERTAIN_S:
        raise ElsewhereError(
            f"the browser's clock is known to ± {best.uncertainty_s * 1e3:.0f} ms only, as its DevTools port answers "
            "so late: reach it over a cable"
        )
    return best


def move(load: Load, ahead_s: float) -> None:
    """Put all times of a load onto our clock."""
    painted = ("t_first_contentful_paint_s", "t_largest_contentful_paint_s")
    owners: list[tuple[object, tuple[str, ...]]] = [(load, ("t_start_s", "t_first_byte_s", "t_loaded_s", *painted))]
    owners += [(exchange, ("t_start_s", "t_first_byte_s", "t_end_s")) for exchange in load.recorder.exchanges]
    owners += [(each, ("t_start_s", "t_handshake_s")) for each in load.recorder.connections.values()]
    for owner, names in owners:
        for name in names:
            if (moment := getattr(owner, name)) is not None:
                setattr(owner, name, moment + ahead_s)
