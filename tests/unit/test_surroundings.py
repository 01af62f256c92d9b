"""Programs that tests start are independent of the shell that runs the tests."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

CHILD = """
import json, os, signal
numbers = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM)
ignored = [number.name for number in numbers if signal.getsignal(number) is signal.SIG_IGN]
print(json.dumps({"ignored": ignored, "PS1": os.environ.get("PS1"), "plugins": os.environ.get("LONGLOOK_PLUGINS")}))
"""
CLEARED = f"""
import os, signal, subprocess, sys
from tests.support.surroundings import clear_environment, restore_default_signals
clear_environment()
restore_default_signals()
os.kill(os.getpid(), signal.SIGINT)  # which this process was started to survive
subprocess.run([sys.executable, "-c", {CHILD!r}], check=True)
"""


def started_with_ignored_signals(program: str) -> dict[str, object]:
    """Run a program as a shell runs it in the background behind nohup, with a prompt as `activate` exports it."""
    script = 'trap "" INT QUIT HUP TERM; exec "$@"'
    environment = {**os.environ, "PS1": "(.venv) $ ", "LONGLOOK_PLUGINS": "/nowhere"}
    command = ["sh", "-c", script, "sh", sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_without_care_the_shell_decides() -> None:
    found = started_with_ignored_signals(CHILD)
    assert found["ignored"] == ["SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM"]
    assert found["PS1"] == "(.venv) $ "


def test_programs_get_default_signals_and_no_prompt() -> None:
    assert started_with_ignored_signals(CLEARED) == {"ignored": [], "PS1": None, "plugins": None}


def test_this_run_has_cleared_them() -> None:
    assert "PS1" not in os.environ
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
