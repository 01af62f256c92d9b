"""Run every benchmark, or those named, and write benches/results.json: `make bench`."""

import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

from benches import (
    boxed,
    capture,
    evidence,
    explain,
    ledger,
    overhead,
    processor,
    proxied,
    sandbox,
    userspace,
    video,
    virtual,
    witness,
)
from benches.infer import bench_infer
from benches.link import bench_link
from benches.trace import bench_trace

RESULTS = Path(__file__).with_name("results.json")


def main() -> int:
    """Run all, print as they come, write once at the end."""
    results: dict[str, Any] = {
        **(json.loads(RESULTS.read_text()) if sys.argv[1:] else {}),
        "measured": {
            "day": time.strftime("%Y-%m-%d"),
            "cpus": os.cpu_count(),
            "kernel": platform.release(),
            "load_before": os.getloadavg(),
            "command": "make bench",
        },
    }
    for name, bench in {
        "overhead_plain_client": lambda: overhead.measure("quic-go", 15),
        "overhead_browser": lambda: overhead.measure("chromium", 10),
        "capture": capture.measure,
        "link": bench_link.measure,
        "virtual": virtual.measure,
        "trace": bench_trace.measure,
        "infer": bench_infer.measure,
        "ledger": ledger.measure,
        "explain": explain.measure,
        "evidence": evidence.measure,
        "sandbox": sandbox.measure,
        "userspace": userspace.measure,
        "boxed": boxed.measure,
        "processor": processor.measure,
        "proxied": proxied.measure,
        "video": video.measure,
        "witness": witness.measure,
    }.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        results[name] = bench()
        print(name, json.dumps(results[name], indent=1), flush=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    print(f"written: {RESULTS}")
    return 0


sys.exit(main())
