"""The Go adapters' own tests; `make lint` has their other checks."""

import subprocess
from pathlib import Path

import pytest

from longlook.core.paths import adapters_dir

MODULES = sorted(file.parent for file in adapters_dir().glob("*/go.mod"))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_go_module(module: Path) -> None:
    done = subprocess.run(("go", "test", "./..."), cwd=module, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
