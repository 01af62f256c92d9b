"""How smoothly the atlas scrolls in headless Chromium: `python -m tests.browser.scrolling [PAGE]`.

The whole page is scrolled by events of the mouse's wheel, down and up again, while Chromium traces what its main
thread does. A task that takes longer than 50 ms holds back the frames that were due meanwhile. Without PAGE the page
is that of STUDIES studies, those with fewest trials, with made-up values in place of trials.
"""

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from longlook.engines.fake import FakeEngine
from longlook.instruments.atlas.run import AtlasFolder
from longlook.instruments.atlas.runs import AtlasOptions, in_order
from tests.data.atlas import made_up_run
from tests.support.browser import Page, chromium

STUDIES = 36
LONG_MS = 50.0
STEP_PX = 400
MOST_STEPS = 5_000
_TASKS = "toplevel"
_BELOW = "scrollY + innerHeight < document.documentElement.scrollHeight - 1"
_ABOVE = "scrollY > 0"


@dataclass(frozen=True)
class Scrolled:
    """The tasks of a page's main thread while it was scrolled: their CPU times and times in ms, the longest first."""

    height_px: int
    steps: int
    tasks_cpu_ms: tuple[float, ...]
    tasks_wall_ms: tuple[float, ...]

    @property
    def long_cpu(self) -> int:
        """The number of tasks that computed for longer than LONG_MS."""
        return sum(task > LONG_MS for task in self.tasks_cpu_ms)

    @property
    def long_wall(self) -> int:
        """The number of tasks that took longer than LONG_MS, with what the machine did meanwhile."""
        return sum(task > LONG_MS for task in self.tasks_wall_ms)


def scroll(page: Page) -> Scrolled:
    """Scroll an open page to its end and back, and return what that took."""
    page.begin_trace(_TASKS, "__metadata")
    steps = 0
    for step_px, goes_on in ((STEP_PX, _BELOW), (-STEP_PX, _ABOVE)):
        while page.evaluate(goes_on):
            page.wheel(step_px)
            steps += 1
            assert steps < MOST_STEPS, f"still: {goes_on}"
    height = page.evaluate("document.documentElement.scrollHeight")
    events = page.end_trace()
    main = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    tasks = [
        event
        for event in events
        if event["name"] == "ThreadControllerImpl::RunTask" and (event["pid"], event["tid"]) in main
    ]
    cpu = sorted((event.get("tdur", 0) / 1000 for event in tasks), reverse=True)
    wall = sorted((event.get("dur", 0) / 1000 for event in tasks), reverse=True)
    return Scrolled(height, steps, tuple(cpu), tuple(wall))


def made_up_page(out: Path) -> Path:
    """Return the page of an atlas of STUDIES studies with made-up values."""
    folder = AtlasFolder(AtlasOptions(out, FakeEngine))
    for study, _plan in in_order(list(folder.choice.studies.values()))[:STUDIES]:
        made_up_run(out / "runs" / study.id, study)
    return folder.build().page


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what scrolling took: for the page opened anew, and once more."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", nargs="?", type=Path)
    given: Path | None = parser.parse_args(arguments).page
    with tempfile.TemporaryDirectory() as place, chromium() as tab:
        page = given or made_up_page(Path(place))
        tab.open(page.resolve().as_uri())
        for which in ("first", "again"):
            found = scroll(tab)
            longest = ", ".join(f"{task:.0f}" for task in found.tasks_cpu_ms[:3])
            print(
                f"{which}: {found.height_px} px, {found.steps} turns of the wheel, {len(found.tasks_cpu_ms)} tasks, "
                f"{found.long_cpu} of more than "
                f"{LONG_MS:.0f} ms of CPU ({found.long_wall} by the clock), the longest {longest} ms of CPU"
            )


if __name__ == "__main__":
    main()
