"""Tests that are made again if something else than the code decided how an attempt ended."""

from collections.abc import Callable, Sequence

import pytest
from _pytest.runner import runtestprotocol

MOST = 4
Reports = Sequence[pytest.TestReport]


def run_attempts(
    item: pytest.Item, nextitem: pytest.Item | None, rejects: Callable[[int, Reports], bool], most: int = MOST
) -> None:
    """Run a test until `rejects` keeps an attempt, at most `most` times, and report the last attempt alone.

    `rejects` gets the number of the attempt, from 1, and the reports of its phases. Everything that the test uses is
    made anew for the next attempt, fixtures of its module and of the session too: they may be what was disturbed.
    """
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for attempt in range(1, most + 1):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if not rejects(attempt, reports) or attempt == most:
            break
        item.session._setupstate.teardown_exact(None)
        item._initrequest()  # type: ignore[attr-defined]
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
