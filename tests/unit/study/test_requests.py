"""What a client of the interop runner's contract cannot be asked for is refused before anything runs."""

import re
from dataclasses import replace
from typing import Any

import pytest

from longlook.core.errors import InputError
from longlook.core.model import Study
from longlook.core.stack import Version
from longlook.instruments.compare.spec import ComparisonSpec, kind_of_load, make_study
from longlook.study import parse_networks
from longlook.study.catalogue import Catalogue, ComparedSide, installed

KNOWN = installed()
IMAGE = replace(KNOWN.stacks["image"], of_images=False, versions=(Version("1", ""), Version("2", "")))
CATALOGUE = Catalogue({**KNOWN.stacks, "image": IMAGE}, KNOWN.workloads, KNOWN.metrics)
ONE, TWO = (ComparedSide("image", version, "h3") for version in ("1", "2"))
NETWORK = parse_networks(["10mbit,36ms"])


def study(workload: dict[str, Any], **settings: Any) -> Study:
    return make_study(ComparisonSpec(ONE, TWO, NETWORK, 5.0, role="client", workload=workload, **settings), CATALOGUE)


def test_files_at_once_can_be_asked_for() -> None:
    found = study({"kind": "download", "object": "1MB", "objects": 3, "at_once": 3})
    assert {str(arm.settings["client"]) for arm in found.arms} == {"image@1", "image@2"}


@pytest.mark.parametrize(
    ("workload", "says"),
    [
        ({"kind": "page", "objects": 1, "object": "1MB"}, "which workload page is not; use download"),
        ({"kind": "video", "quality": "hd720"}, "image"),
        ({"kind": "download", "object": "1MB", "objects": 3, "at_once": 2}, "at once: leave it out"),
        ({"kind": "download", "object": "1MB", "connections": 2}, "opens one connection only"),
        ({"kind": "download", "object": "1MB", "warm": "1s"}, "never waits"),
        ({"kind": "download", "object": "100MB", "objects": 3}, "has room for files of 192MiB together, not of 300MB"),
    ],
)
def test_what_has_an_order_or_is_too_large_is_refused(workload: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        study(workload)


def test_a_comparison_of_such_clients_downloads() -> None:
    program = ComparedSide("quic-go", "0.65.0", "h3")
    assert kind_of_load([ONE, TWO], "client", "quic-go") == "download"
    assert kind_of_load([program, TWO], "both", "quic-go") == "download"
    assert kind_of_load([ONE, TWO], "server", "quic-go") == "page"
    assert kind_of_load([program, program], "server", "image:./a.tar") == "download"
    assert kind_of_load([program, program], "client", "image:./a.tar") == "page"
