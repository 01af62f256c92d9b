"""Charts of these tests are checked as those of the report are, and their smallest study is that of the pipeline."""

from tests.unit.pipeline.conftest import study
from tests.unit.report.conftest import checked_charts

__all__ = ["checked_charts", "study"]
