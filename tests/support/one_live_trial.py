"""Runs one trial in real time, again if the machine was late, and prints its outcome and reason as a line of JSON.

python -m tests.support.one_live_trial SERVER CLIENT FOLDER
"""

import json
import sys
from pathlib import Path

from longlook.core import Endpoint, Workload
from longlook.engines.live import LiveEngine
from longlook.instruments.conformance.checks import Want
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.links import path
from longlook.instruments.conformance.runner import run_wants
from tests.support.undisturbed import was_disturbed

FILES = Workload("download", {"objects": 2, "object_bytes": 200_000})


def main(server: str, client: str, out: Path) -> None:
    ends = (Endpoint(*name.split("@")) for name in (server, client))
    want = Want("h3", path(10, 0.036), FILES, *ends, timeout_s=10.0)
    with LiveEngine() as engine:
        found = run_wants([want], engine, out, lambda _text: None, use_cache=False)[want.trial().id]
    if not isinstance(found, Seen):
        raise SystemExit(str(found))
    timed = [line["event"] for line in found.load]
    run = found.run
    print(json.dumps({"outcome": run.outcome, "reason": run.reason, "timed": timed, "late": was_disturbed(run)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
