"""Check that the packets of a link add up: none lost, none invented. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from longlook.timeline.normalise.link_log import DELIVERED, NO_FLOW, QUEUED, LinkLog

DIRECTIONS = ("up", "down")


def conservation(log: LinkLog, summary: Mapping[str, Any] | None = None) -> list[str]:
    """Return what does not add up, one sentence each; empty if everything does, exactly.

    In each direction arrived + copied = delivered + dropped + queued, packets are numbered without a gap, times do not
    run backwards, and the router's `summary` (its line of that name) equals the log. Without a summary the log is only
    compared with itself. A log that was cut off does not add up.
    """
    found = [f"the last record is cut off after {log.truncated_bytes} bytes"] if log.truncated_bytes else []
    foreign = int(np.count_nonzero(log.records["direction"] >= len(DIRECTIONS)))
    found += [f"{foreign} records have no direction"] if foreign else []
    for number, name in enumerate(DIRECTIONS):
        records = log.records[log.records["direction"] == number]
        wrong = [*_records(log, records), *(_counters(log, records, summary[name]) if summary else ())]
        found += [f"{name}: {text}" for text in wrong]
    return found


def _records(log: LinkLog, records: npt.NDArray[Any]) -> Iterator[str]:
    """Return contradictions among the records of one direction."""
    numbers = np.unique(records["sequence"])
    if len(numbers) and (numbers[0] != 0 or numbers[-1] != len(numbers) - 1):
        yield f"{len(numbers)} packets are numbered from {numbers[0]} to {numbers[-1]}"
    known = np.isin(records["verdict"], list(log.verdicts))
    if not known.all():
        yield f"{np.count_nonzero(~known)} records have a verdict that the header does not name"
    left = records["verdict"] == DELIVERED
    times = [("departure before the due time", left & (records["departure_ns"] < records["due_ns"]))]
    times.append(("due before the arrival", left & (records["due_ns"] < records["arrival_ns"])))
    times.append(("a departure without being delivered", ~left & (records["departure_ns"] != 0)))
    if log.column("copy") is not None:
        settled = records[records["verdict"] != QUEUED]
        pairs = np.unique(np.stack([settled["sequence"], settled["copy"].astype(np.uint64)]), axis=1)
        if pairs.shape[1] != len(settled):
            yield f"{len(settled) - pairs.shape[1]} fates came twice"
        times.append(("a flow without an address", (records["ip_version"] == 0) & (records["flow"] != NO_FLOW)))
    yield from (f"{np.count_nonzero(wrong)} records have {text}" for text, wrong in times if wrong.any())


def _counters(log: LinkLog, records: npt.NDArray[Any], counters: Mapping[str, int]) -> Iterator[str]:
    """Return contradictions between one direction's counters and its records."""
    arrived = len(np.unique(records["sequence"]))
    is_first = np.zeros(len(records), np.bool_)
    is_first[np.unique(records["sequence"], return_index=True)[1]] = True
    left = records["verdict"] == DELIVERED
    sizes = records["size_bytes"].astype(np.int64)
    logged = {name: int(np.count_nonzero(records["verdict"] == code)) for code, name in log.verdicts.items()}
    logged |= {
        "arrived": arrived,
        "copied": len(records) - arrived,
        "arrived_bytes": int(sizes[is_first].sum()),
        "delivered_bytes": int(sizes[left].sum()),
    }
    for name, count in logged.items():
        if (counted := counters.get(name, 0)) != count:
            yield f"{name} is {counted} in the summary and {count} in the log"
    fates = sum(count for name, count in counters.items() if name.startswith("dropped_"))
    fates += counters["delivered"] + counters["queued"]
    if (came := counters["arrived"] + counters.get("copied", 0)) != fates:
        yield f"arrived + copied is {came}, delivered + dropped + queued is {fates}"
