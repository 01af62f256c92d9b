"""Charts of these tests are checked against Vega-Lite's schema, as those of users are not."""

from collections.abc import Iterator

import pytest
from altair.utils import schemapi

from longlook.report.charts import theme


@pytest.fixture(autouse=True)
def checked_charts() -> Iterator[None]:
    """Let Altair check every part of a chart as it is made, and every chart that is drawn."""
    assert vars(theme)["schemapi"] is schemapi
    with schemapi.debug_mode(True):
        yield
