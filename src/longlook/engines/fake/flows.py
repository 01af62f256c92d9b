"""Made-up flows that compete: each gets about its equal part of the link's rate."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from longlook.core import FLOWS_FILE, Flow, Job, find_protocol, flow_folder, stop_after_s
from longlook.engines.fake.lines import FIRST_PORT, Reported, client_lines, server_lines
from longlook.engines.fake.link_log import TCP, UDP, ConnectionLoad
from longlook.engines.fake.path import EPOCH_NS, FakePath
from longlook.lab import SERVER_PORT, addresses_of, write_json, write_lines

_UNEQUAL = 0.2
"""By how much a flow's part may differ from the equal one."""


def write_flows(job: Job, path: FakePath, *, arrived: bool) -> list[ConnectionLoad]:
    """Write what the laboratory leaves of each flow of a trial; return what each carried, in their order."""
    folder, found, records = Path(job.folder), [], []
    for flow, load in _loads(job, path):
        client, server = (address.rpartition(":")[0] for address in (load.client, load.server))
        place = flow_folder(folder, flow)
        place.mkdir(parents=True)
        reported = _reported(job, flow, load, arrived=arrived)
        write_lines(place / "client.jsonl", client_lines([reported]))
        write_lines(place / "server.jsonl", server_lines([reported]))
        records.append(
            {
                "name": flow.name,
                "group": flow.group,
                "cross": flow.cross,
                "client_address": client,
                "server_address": server,
                "began_unix_ns": load.began_ns,
                "ended_unix_ns": load.end_ns,
                "ended_by_itself": flow.object_bytes is not None,
            }
        )
        found.append(load)
    write_json(folder / FLOWS_FILE, records)
    return found


def _loads(job: Job, path: FakePath) -> Iterator[tuple[Flow, ConnectionLoad]]:
    trial = job.trial
    part_bps = path.rate_bps / len(trial.flows)
    stop_s = stop_after_s(trial.workload)
    for number, flow in enumerate(trial.flows):
        draws = random.Random(f"{trial.id} {flow.name} {job.attempt}")  # noqa: S311
        own_bps = part_bps * (1 + draws.uniform(-_UNEQUAL, _UNEQUAL))
        began_ns = EPOCH_NS + round(flow.start_s * 1e9)
        secure_ns = began_ns + (0 if find_protocol(flow.protocol).cross_traffic else path.rtt_ns)
        first_ns = secure_ns + path.rtt_ns
        if flow.object_bytes is not None:
            size_bytes = flow.object_bytes
            end_ns = first_ns + round(8e9 * size_bytes / own_bps)
        else:
            end_ns = max(first_ns, EPOCH_NS + round((stop_s or 1.0) * 1e9))
            size_bytes = round(own_bps * (end_ns - first_ns) / 8e9)
        addresses = addresses_of(flow.address_slot)
        quic = flow.congestion_control is None and not find_protocol(flow.protocol).cross_traffic
        yield (
            flow,
            ConnectionLoad(
                client=f"{addresses.client}:{FIRST_PORT + number}",
                server=f"{addresses.server}:{SERVER_PORT}",
                ip_protocol=UDP if flow.congestion_control is None else TCP,
                quic=quic,
                began_ns=began_ns,
                secure_ns=secure_ns,
                first_byte_ns=first_ns,
                end_ns=end_ns,
                size_bytes=size_bytes,
            ),
        )


def _reported(job: Job, flow: Flow, load: ConnectionLoad, *, arrived: bool) -> Reported:
    """Return what both ends report: of a flow that was stopped, and of datagrams, no whole object."""
    expected: dict[str, Any] = {}
    if flow.object_bytes is not None:
        expected = {path: of for path, of in job.content.expected.items() if of.bytes == flow.object_bytes}
    return Reported(job.trial.with_only(flow), job.identity.host, load, expected, arrived=arrived)
