"""The fuzzers of fuzz/, some seconds each."""

import os
import random
import signal
import subprocess
from pathlib import Path

from scripts.fuzzed_readers import READERS

from tests.torture.place import PATIENCE_S, Place

ROOT = Path(__file__).parents[2]
SECONDS = 60


def fuzzer(place: Place, draw: random.Random) -> None:
    """Run one fuzzer; what crashes it stays in fuzz/artifacts."""
    name = draw.choice(sorted([*READERS, *(path.stem for path in (ROOT / "fuzz" / "targets").glob("*.rs"))]))
    place.note(name, f"{SECONDS} s")
    _call("build", None)  # once a checkout, for as long as the machine needs
    _call(name, SECONDS + PATIENCE_S)


def _call(name: str, patience_s: float | None) -> None:
    """Run the script with a name; AssertionError where it fails, or has no end in time: then all of it is ended."""
    with subprocess.Popen(
        [str(ROOT / "fuzz" / "run"), name],
        env={**os.environ, "FUZZ_SECONDS": str(SECONDS)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as script:
        try:
            output, _ = script.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"no end after {patience_s} s: fuzz/run {name}") from None
        finally:
            if script.poll() is None:
                os.killpg(script.pid, signal.SIGKILL)
    assert script.returncode == 0, output[-1500:]
