"""The statistics must not warn: a warning of numpy or scipy is an unhandled case."""

import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
