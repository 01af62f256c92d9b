"""The adapter's own tests and checks, by its own tools."""

import subprocess
from pathlib import Path

import pytest

from longlook.core.paths import adapters_dir

MODULES = sorted(file.parent for file in adapters_dir().glob("*/go.mod"))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
@pytest.mark.parametrize("check", [("go", "test", "./..."), ("go", "vet", "./..."), ("gofmt", "-l", ".")], ids=" ".join)
def test_go_module(module: Path, check: tuple[str, ...]) -> None:
    done = subprocess.run(check, cwd=module, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    if check[0] == "gofmt":
        assert done.stdout == ""
