"""Measures a run whose trials all come from a store in a local S3, next to the same run from this machine's cache.

The S3 is moto's server, a process of its own. Both runs have the programs and the measurements at hand: the trials
alone come from elsewhere.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from longlook.core import ContentStore, cache_root
from longlook.store import TRIALS, cache_of, cache_with_store, required_sharing

TARGET_MS = 10.0
REPEATS = 3
ROUNDS = 10
STUDY = ("demo", "--only", "client=quic-go", "--only", "size=5KB", "--rounds", str(ROUNDS))
SERVER = """
import threading
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
threading.Event().wait()
"""


def measure() -> Mapping[str, Any]:
    """Return medians over some repeats, in ms for each trial: of taking trials, and of whole runs."""
    with tempfile.TemporaryDirectory() as scratch, _server() as endpoint:
        root = Path(scratch)
        env = {
            "AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s",
            "AWS_DEFAULT_REGION": "us-east-1", "LONGLOOK_STORE": "s3://bucket/bench",
        }  # fmt: skip
        os.environ.update(env)
        os.environ["LONGLOOK_TRIALS"] = str(root / "filled")
        _run(root / "first")
        keys = list(ContentStore(cache_root()).held_keys())
        taken: dict[str, list[float]] = {"store": [], "cache": []}
        runs: dict[str, list[float]] = {"store": [], "cache": []}
        for repeat in range(REPEATS):
            os.environ["LONGLOOK_TRIALS"] = str(root / f"taken-{repeat}")
            with required_sharing(print):
                for times in taken.values():  # the second time they are here
                    times.append(_timed(lambda: [cache_with_store(TRIALS).read(key, bool) for key in keys]))
            if list(cache_of(TRIALS).held_keys()) != keys:
                raise RuntimeError("the store did not have every trial")
            os.environ["LONGLOOK_TRIALS"] = str(root / f"run-{repeat}")
            for name, times in runs.items():
                place = root / f"out-{name}-{repeat}"
                times.append(_timed(partial(_run, place)))
        per_trial = 1000 / len(keys)
        return {
            "target_ms": TARGET_MS,
            "trials": len(keys),
            "repeats": REPEATS,
            **{f"{name}_ms_per_trial": round(statistics.median(taken[name]) * per_trial, 2) for name in taken},
            **{f"run_from_{name}_s": round(statistics.median(runs[name]), 2) for name in runs},
        }


def _run(out: Path) -> None:
    command = [sys.executable, "-m", "longlook", "run", *STUDY, "--out", str(out)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _timed(call: Any) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


@contextmanager
def _server() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        endpoint = f"http://127.0.0.1:{(process.stdout or sys.stdin).readline().strip()}"
        with urllib.request.urlopen(urllib.request.Request(f"{endpoint}/bucket", method="PUT"), timeout=120):
            pass
        yield endpoint
    finally:
        process.kill()
        process.wait()
