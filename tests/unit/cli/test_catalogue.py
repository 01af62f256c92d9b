"""`longlook metrics` and `longlook causes`, and what Tab offers."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from longlook.terminal import completion
from tests.support.command_line import call_longlook


def test_metrics_are_listed_searched_and_shown() -> None:
    names = [each["name"] for each in json.loads(call_longlook("metrics", "list", "--json").stdout)]
    assert "page_load_time" in names
    found = json.loads(call_longlook("metrics", "list", "PAINT", "--json").stdout)
    assert {"first_contentful_paint"} < {each["name"] for each in found}
    assert len(found) < len(names)
    assert "nothing with 'xyzzy'" in call_longlook("metrics", "list", "xyzzy").stdout
    shown = json.loads(call_longlook("metrics", "show", "page_load_time", "--json").stdout)
    assert (shown["unit"], shown["better"]) == ("s", "lower")
    assert shown["margin"].startswith("3 %")


def test_causes_are_listed_and_shown() -> None:
    assert len(json.loads(call_longlook("causes", "list", "--json").stdout)) > 50
    assert "pacing" in call_longlook("causes", "show", "pacing_limited").stdout


def test_an_unknown_name_gets_near_ones() -> None:
    answer = call_longlook("metrics", "show", "page_load_tim")
    assert answer.returncode == 2
    assert "the nearest: page_load_time" in answer.stderr
    assert len(answer.stderr) < 400
    assert call_longlook("causes", "show", "").returncode == 2


def context(**params: Any) -> Any:
    return SimpleNamespace(params=params)


def test_tab_offers_names() -> None:
    assert "demo" in completion.studies("de")
    assert completion.metrics("page_load") == ["page_load_time"]
    assert "pacing_limited" in completion.causes("pacing")
    assert "quic-go" in completion.stacks("quic")
    versions = completion.stacks("quic-go@0.6")
    assert versions
    assert all(version.startswith("quic-go@0.6") for version in versions)
    assert completion.networks("")
    assert "size=5KB" in completion.levels(context(study="demo"), "size=")


def test_tab_offers_nothing_if_something_cannot_be_read(tmp_path: Path) -> None:
    assert completion.stacks("no-such-stack@1") == []
    assert completion.levels(context(study="no-such-study"), "") == []
    assert completion.levels(context(), "") == []
    assert completion.cells(context(run_folder=tmp_path), "") == []
