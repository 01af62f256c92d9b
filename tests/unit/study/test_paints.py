"""Metrics of paints are refused where a client shows no pages."""

from dataclasses import replace

import pytest

from longlook.core.errors import InputError
from longlook.core.model import Endpoint, Plan
from longlook.study.virtual_time import check_paints
from tests.data.samples import study
from tests.data.trials import TRIAL

PAINT = "first_contentful_paint"


def check(client: str, *metrics: str) -> None:
    trial = replace(TRIAL, client=Endpoint(client, "system"))
    check_paints(replace(study(), metrics=metrics), Plan("made-up", "hash", (trial,)))


@pytest.mark.parametrize("client", ["chromium", "firefox", "chromium-remote"])
def test_browsers_show_pages(client: str) -> None:
    check(client, PAINT, "largest_contentful_paint")


def test_other_clients_are_refused_with_those_that_could() -> None:
    check("quic-go", "page_load_time")
    with pytest.raises(InputError, match=f"asks for {PAINT}, and client quic-go of arm .* shows no pages") as caught:
        check("quic-go", "page_load_time", PAINT)
    assert caught.value.hint is not None
    assert "chromium, chromium-remote, firefox" in caught.value.hint
