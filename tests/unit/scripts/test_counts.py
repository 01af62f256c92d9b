"""What is counted of a checkout, on a small one written by hand."""

from pathlib import Path

import pytest
from scripts import counts
from scripts.counts import COUNTS, Checkout

FILES = {
    "src/longlook/__init__.py": "",
    "src/longlook/core/__init__.py": "",
    "src/longlook/instruments/__init__.py": "",
    "src/longlook/core/model.py": "class Trial:\n    pass\n\n\nclass Side:\n    pass\n\n\nclass _Own:\n    pass\n",
    "src/longlook/core/units.py": "from typing import Any\n\nX: Any = 'fmt: skip'\nY: list[Any] = [1]  # fmt: skip\n",
    "src/longlook/metrics/__init__.py": "from longlook.core.model import Trial\n",
    "src/longlook/metrics/goodput.py": "from longlook.core import units\n\nimport longlook.core.model\n",
    "src/longlook/report/__init__.py": "from longlook.core.model import Side, Trial\n"
    "\nclass Side:\n    class Trial: ...\n",
    "src/longlook/report/page.py": "def f(cpu_work, b):\n    return b.cpu_work, 'cpu_work.csv', 'cpu_works'\n"
    + 60 * "\n",
    "src/longlook/report/cpu/chart.py": "cpu_work = chart_section()\n\n\n",
    "src/longlook/instruments/calibrate/__init__.py": "from longlook.report import page\nclass _Own: ...\n",
    "src/longlook/studies/demo.toml": "a = 1\nb = 2\n",
    "tests/unit/test_a.py": "import time\n\ndef test() -> None:\n    time.sleep(1)\n"
    "    assert 'two words' in f()\n    assert f() == 'one'\n",
    "tests/lab/test_b.py": "import time\n\ndef test() -> None:\n    time.sleep(1)\n"
    "    assert f'{a} is wrong' != b\n    assert 'a b'\n",
    "README.md": "QUIC gains 30 %, by its source +28 to +29 %, on a path of `36 ms`.\n",
    "docs/a.md": "one two\nthree <!--\nfrom demo: 5KB -->\n",
    "docs/reference/b.md": "word " * 3_501,
    "docs/reference/c.md": "<!-- Made by `make`. -->\n# C\n",
    "CHANGELOG.md": "# Changelog\n",
}
EXPECTED = {
    "source_lines": 89,
    "source_files": 11,
    "spine_lines": 83,
    "plugin_lines": 4,
    "instrument_lines": 2,
    "plugin_files": 2,
    "short_files": 3,
    "package_arrows": 3,
    "names_across_borders": 5,
    "modules_shown": 3,
    "homonyms": 1,
    "places_of_a_table": 2,
    "chart_section_lines": 3,
    "any_types": 2,
    "suppressions": 1,
    "test_lines": 12,
    "wording_asserts_per_1000": 500,
    "clocks_in_unit_tests": 1,
    "study_lines": 2,
    "words_of_documents": 3_504,
    "pages": 2,
    "long_pages": 1,
    "generated_pages": 1,
    "words_of_generated_pages": 7,
    "bound_numbers_of_pages": 0,
    "unbound_numbers_of_results": 3,
    "changelog_lines": 1,
}
ELSEWHERE = {"study_walk_files", "style_of_documents", "style_of_docstrings"}
"""Counts with tests of their own."""


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Checkout(tmp_path)


@pytest.mark.parametrize(
    "count", [count for count in COUNTS if count.name not in ELSEWHERE], ids=lambda count: count.name
)
def test_a_small_checkout_is_counted_as_by_hand(checkout: Checkout, count: counts.Count) -> None:
    assert count.measure(checkout) == EXPECTED[count.name]


def test_every_count_is_defined_in_one_line() -> None:
    assert {count.name for count in COUNTS} == EXPECTED.keys() | ELSEWHERE
    assert all(count.definition.endswith((".", "`")) for count in COUNTS)
