"""What a browser's driver makes of a page's answer about its paints."""

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from longlook.core.paths import adapters_dir


@pytest.fixture
def paints(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(adapters_dir() / "lib" / "python"))
    yield import_module("longlook_adapter.paint").Paints
    for name in [name for name in sys.modules if name.split(".")[0] == "longlook_adapter"]:
        del sys.modules[name]


def test_paints_are_read_from_the_browsers_own_entries(paints: Any) -> None:
    text = '{"first-paint": 350, "first-contentful-paint": 366.5, "largest-contentful-paint": 420}'
    assert paints.read(text) == paints(366.5, 420)


def test_what_was_never_shown_is_none(paints: Any) -> None:
    assert paints.read("{}") == paints(None, None)
