"""Commands that only look something up load no library that draws or computes statistics."""

import subprocess
import sys

import pytest

HEAVY = ("altair", "pandas", "scipy", "statsmodels", "jinja2")
CODE = """
import sys
from longlook.cli import main
try:
    main()
except SystemExit as end:
    assert end.code in {codes}, end.code
loaded = [name for name in {heavy} if name in sys.modules]
assert not loaded, loaded
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["run", "--help"],
        ["study", "list"],
        ["study", "show", "demo"],
        ["study", "show", "kakhki2017-tab4", "--rounds", "5", "--json"],
        ["stacks", "list"],
        ["doctor"],
        ["cache", "show"],
    ],
    ids=" ".join,
)
def test_a_look_up_loads_nothing_heavy(arguments: list[str]) -> None:
    code = CODE.format(heavy=HEAVY, codes=(None, 0, 3))  # doctor: 3 where a need is not met
    answer = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["run", "demo", "--set", "network.rat=36ms"], "did you mean 'network.rate'?"),
        (["compare", "quic-go", "quic-og", "--on", "10mbit,36ms"], "unknown stack 'quic-og'"),
    ],
    ids=["run", "compare"],
)
def test_a_mistake_is_reported_before_anything_heavy_is_loaded(arguments: list[str], problem: str) -> None:
    code = CODE.format(heavy=HEAVY, codes=(2,))
    answer = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert problem in answer.stderr
