"""Scripts that call Longlook without a guard: the processes that measure their trials do not run them again."""

import subprocess
import sys
from pathlib import Path

from longlook.engines.fake import FakeEngine
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.study.files import find_study

TINY = str(Path(__file__).parents[2] / "data" / "tiny.toml")
SCRIPT = """
import sys
import longlook.api as ll

print("begun", flush=True)
run = ll.open(sys.argv[1]).analyse(progress=False)
print(len(run.estimates), "estimates")
"""


def test_a_script_is_not_its_children_s(tmp_path: Path) -> None:
    run_study(find_study(TINY, rounds=10), tmp_path / "run", RunOptions(FakeEngine(), use_cache=False), Observer())
    for kept in ("timeline.parquet", "events.parquet"):
        for file in (tmp_path / "run" / "trials").rglob(kept):
            file.unlink()
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "run")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={"LONGLOOK_CACHE": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"},
    )
    assert (done.returncode, done.stdout.splitlines()) == (0, ["begun", "2 estimates"]), done.stderr
