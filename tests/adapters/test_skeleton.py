"""A stack that `longlook new stack` has written is built, and fulfils the contract, before anything is edited."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("like", ["go", "python"])
def test_a_new_stack_works_as_it_is(like: str, tmp_path: Path) -> None:
    name = f"new-{like}"

    def run(*arguments: str) -> str:
        env = {**os.environ, "LONGLOOK_PLUGINS": str(tmp_path / name)}
        command = (sys.executable, "-m", *arguments)
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("longlook", "new", "stack", name, "--like", like, "--into", str(tmp_path / name))
    run("longlook", "setup", name)
    options = ("-q", "-p", "no:cacheprovider", "-k", f"{name} and h3 and (page_arrives or several)")
    told = run("pytest", "tests/adapters/test_transfer.py", *options)
    assert int(re.findall(r"(\d+) passed", told)[0]) >= 4
