"""Run every benchmark, or those named, and write benches/results.json: `make bench`, `python -m benches NAME …`."""

import sys

from benches import (
    api,
    boxed,
    capture,
    evidence,
    executor,
    explain,
    ledger,
    live_page,
    overhead,
    population,
    processor,
    proxied,
    reproduce,
    results,
    sandbox,
    scale,
    store,
    userspace,
    video,
    virtual,
    witness,
)
from benches.infer import bench_infer
from benches.link import bench_link
from benches.trace import bench_trace

BENCHES: dict[str, results.Bench] = {
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
    "scale": scale.measure,
    "store": store.measure,
    "userspace": userspace.measure,
    "boxed": boxed.measure,
    "processor": processor.measure,
    "proxied": proxied.measure,
    "reproduce": reproduce.measure,
    "video": video.measure,
    "witness": witness.measure,
    "api": api.measure,
    "executor": executor.measure,
    "population": population.measure,
    "live_page": lambda: live_page.measure(rounds=6),
}

if __name__ == "__main__":
    results.run(BENCHES, sys.argv[1:])
