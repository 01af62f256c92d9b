"""How many files a laboratory may have open."""

import resource
from typing import Any

import pytest

from longlook.lab import laboratory


@pytest.mark.parametrize(
    ("before", "flows", "more", "after"),
    [
        ((1024, 4096), 10, True, (1024, 4096)),
        ((1024, 4096), 100, True, (2600, 4096)),
        ((1024, 4096), 254, True, (6296, 6296)),
        ((1024, 4096), 254, False, (4096, 4096)),
        ((1024, resource.RLIM_INFINITY), 254, True, (6296, resource.RLIM_INFINITY)),
    ],
)
def test_many_flows_have_the_files_that_they_need(
    monkeypatch: Any, before: tuple[int, int], flows: int, more: bool, after: tuple[int, int]
) -> None:
    limits = [before]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, values: limits.append(values))
    laboratory._allow_open_files(flows, more=more)
    assert limits[-1] == after
