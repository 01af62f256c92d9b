"""The first second of the command, in which its modules are loaded."""

import subprocess
import sys

import pytest

from longlook.core.digests import folder_digest


@pytest.mark.parametrize("module", ["longlook.cli", "typer", "longlook.cli.commands", "longlook.study.files"])
def test_an_interrupt_while_modules_are_loaded_ends_it_with_130_and_without_a_traceback(module: str) -> None:
    code = f"""
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

from longlook import __main__
sys.meta_path.insert(0, Finder())
sys.argv = ["longlook", "study", "list"]
__main__.run()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130, done
    assert "Traceback" not in done.stderr


def test_the_version_names_what_results_depend_on() -> None:
    done = subprocess.run([sys.executable, "-m", "longlook", "--version"], capture_output=True, text=True, check=True)
    version, method, kernel = done.stdout.splitlines()
    assert version.startswith("longlook ")
    assert method == f"method {folder_digest('longlook.analysis.stats')[:16]}"
    assert kernel.startswith("kernel ")
