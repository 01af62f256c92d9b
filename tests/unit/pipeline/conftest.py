import pytest

from longlook.core.model import Study
from longlook.study.files import find_study
from tests.conftest import TINY


@pytest.fixture(scope="module")
def study() -> Study:
    """The smallest study: twelve trials."""
    return find_study(str(TINY))
