"""A program that swaps folders for links, and back, as fast as it can."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = """
import os, sys
folder, *names = sys.argv[1:]
os.chdir(folder)
print("swapping", flush=True)
while True:
    for name in names:
        os.rename(name, "aside"); os.rename(f"link-{name}", name)
        os.rename(name, f"link-{name}"); os.rename("aside", name)
"""


@contextmanager
def swapping(folder: Path, *names: str) -> Iterator[None]:
    """Swap each of these folders in a folder for the link next to it (`link-NAME`) while a block runs."""
    command = [sys.executable, "-c", PROGRAM, str(folder), *names]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as program:
        try:
            assert program.stdout is not None
            program.stdout.readline()
            yield
            assert program.poll() is None
        finally:
            program.kill()
