"""Commands that only look something up load no library that draws or computes statistics."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence

HEAVY = ("altair", "pandas", "scipy", "statsmodels", "jinja2")
CODE = f"""
import json, sys
from longlook.cli import main
for sys.argv, codes in json.loads(sys.argv[1]):
    try:
        code = main()
    except SystemExit as end:
        code = end.code
    loaded = [name for name in {HEAVY} if name in sys.modules]
    assert not loaded, (sys.argv, loaded)
    assert code in codes, (sys.argv, code)
"""
DONE, REFUSED = (None, 0), (2,)
LOOK_UPS = {
    "--help": DONE,
    "run --help": DONE,
    "study list": DONE,
    "study show demo": DONE,
    "study show kakhki2017-tab4 --rounds 5 --json": DONE,
    "stacks list": DONE,
    "doctor": (*DONE, 3),  # where a need is not met
    "cache show": DONE,
}
MISTAKES = {
    "run demo --set network.rat=36ms": "did you mean 'network.rate'?",
    "compare quic-go quic-og --on 10mbit,36ms": "unknown stack 'quic-og'",
}


def answered(commands: Mapping[str, Sequence[int | None]]) -> "subprocess.CompletedProcess[str]":
    """Let one interpreter answer commands one after the other, each with one of its exit codes."""
    lines = json.dumps([(["longlook", *command.split()], codes) for command, codes in commands.items()])
    done = subprocess.run([sys.executable, "-c", CODE, lines], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def test_look_ups_load_nothing_heavy() -> None:
    assert answered(LOOK_UPS).stdout


def test_mistakes_are_reported_before_anything_heavy_is_loaded() -> None:
    errors = answered(dict.fromkeys(MISTAKES, REFUSED)).stderr
    assert [problem for problem in MISTAKES.values() if problem not in errors] == []
