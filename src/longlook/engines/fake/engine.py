"""The engine itself: how long a made-up load takes, and which artefacts it leaves."""

import json
import math
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from longlook.core import (
    BEHIND,
    FLOWS_FILE,
    MAIN,
    SECOND,
    ConnectionState,
    Flow,
    Job,
    Outcome,
    Run,
    address_in,
    counter_name,
    find_protocol,
    flow_folder,
    link_file,
    stop_after_s,
    with_port,
)
from longlook.engines.fake.collectors import write_profile, write_server_trace
from longlook.engines.fake.lines import FIRST_PORT, Reported, client_lines, server_lines
from longlook.engines.fake.link_log import TCP, UDP, ConnectionLoad, packets_of, through, write_link_log
from longlook.engines.fake.path import EPOCH_NS, FakePath, path_of
from longlook.engines.sequential import SequentialEngine
from longlook.lab import (
    SERVER_PORT,
    digests,
    plan_of,
    seal,
    write_json,
    write_lines,
)
from longlook.network import link_text

_UNEQUAL = 0.2
"""By how much a flow's part may differ from the equal one."""
_HANDSHAKE_ROUND_TRIPS = {"h3": 1, "h2": 2}
_LINGER_NS = 100_000_000
_QUIET = {"late_share": 0.0, "late_packets": 0.0, "max_gap_ms": 0.1, "max_late_ms": 0.1, "steal_share": 0.0}
"""The validity guard of a machine on which nothing else runs."""


def write_flows(job: Job, path: FakePath, *, arrived: bool) -> list[ConnectionLoad]:
    """Write what the laboratory leaves of each flow of a trial; return what each carried, in their order."""
    folder, found, records = Path(job.folder), [], []
    for flow, load in _loads_of_flow(job, path):
        client, server = (address_in(address) for address in (load.client, load.server))
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


def _loads_of_flow(job: Job, path: FakePath) -> Iterator[tuple[Flow, ConnectionLoad]]:
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
        addresses = plan_of(trial).of_slot(flow.address_slot)
        quic = flow.congestion_control is None and not find_protocol(flow.protocol).cross_traffic
        yield (
            flow,
            ConnectionLoad(
                client=with_port(addresses.client, FIRST_PORT + number),
                server=with_port(addresses.server, SERVER_PORT),
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


class FakeEngine(SequentialEngine):
    """Makes results up that depend on the trial alone: on its id, seed, link, protocol and content.

    A load takes the handshake's round trips, one more for the request, and the bytes of all connections at the link's
    rate. The sum is multiplied by `factors[arm]` (1 if an arm is not named) and by log-normal noise of `sigma`.
    `outcomes` maps trial ids to outcomes other than ok. Artefacts are `client.jsonl` and `server.jsonl`. With
    `evidence` there are also the log and the configuration of each link, the lines of each competing flow, and the CPU
    profiles and the qlog of a QUIC server if `capture` asks for them. Proxies, players, echoes and the kernel's TCP
    leave no files.
    """

    name = "fake"

    def __init__(
        self,
        outcomes: Mapping[str, Outcome] | None = None,
        factors: Mapping[str, float] | None = None,
        sigma: float = 0.02,
        *,
        evidence: bool = False,
    ) -> None:
        self.outcomes = dict(outcomes or {})
        self.factors = dict(factors or {})
        self.sigma = sigma
        self.evidence = evidence
        self.ran: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def run(self, job: Job) -> Run:
        """Write the artefacts of one made-up trial and return its result."""
        trial, folder = job.trial, Path(job.folder)
        self.ran.append(trial.id)
        outcome = self.outcomes.get(trial.id, Outcome.OK)
        arrived = outcome is Outcome.OK
        load_s = self._load_s(job)
        write_json(folder / "trial.json", trial)
        loads = _loads(job, load_s)
        reported = [Reported(trial, job.identity.host, load, job.content.expected, arrived=arrived) for load in loads]
        cpu_s = {"client": load_s / 20, "server": load_s / 30, "link": load_s / 40}
        counters: dict[str, dict[str, int]] = {}
        if self.evidence and trial.competes:
            loads = write_flows(job, path_of(job, trial.link), arrived=arrived)
        else:
            write_lines(folder / "client.jsonl", client_lines(reported))
            write_lines(folder / "server.jsonl", server_lines(reported))
        if self.evidence:
            counters = _write_links(job, loads)
            if trial.capture.cpu:
                write_profile(folder, cpu_s)
            if trial.capture.qlog and arrived and loads[0].quic:
                write_server_trace(folder, loads[0])
        run = Run(
            trial_id=trial.id,
            outcome=outcome,
            reason=None if arrived else f"made to end as {outcome}",
            hint=None,
            attempt=job.attempt,
            engine=self.name,
            started_unix_ns=EPOCH_NS,
            setup_s=0.0,
            measure_s=load_s,
            teardown_s=0.0,
            programs={role: program.digest for role, program in job.programs.items()},
            artefacts=digests(folder),
            cpu_s=cpu_s,
            link=counters,
            guard=_QUIET if self.evidence else {},
        )
        seal(folder, run)
        return run

    def _load_s(self, job: Job) -> float:
        trial, path = job.trial, path_of(job, job.trial.link)
        noise = random.Random(f"{trial.id} {trial.seed} {job.attempt}").gauss(0.0, self.sigma)  # noqa: S311
        size_bits = 8 * job.content.connections * sum(expected.bytes for expected in job.content.expected.values())
        ideal_s = (_round_trips(job) + 1) * path.rtt_ns / 1e9 + size_bits / path.rate_bps
        return ideal_s * self.factors.get(trial.arm, 1.0) * math.exp(noise)


def _round_trips(job: Job) -> int:
    early = job.trial.connection is ConnectionState.ZERO_RTT
    return 0 if early else _HANDSHAKE_ROUND_TRIPS.get(job.trial.protocol, 1)


def _loads(job: Job, load_s: float) -> list[ConnectionLoad]:
    """Return what each connection of a trial's only flow carries."""
    trial, path = job.trial, path_of(job, job.trial.link)
    secure_ns, end_ns = EPOCH_NS + _round_trips(job) * path.rtt_ns, EPOCH_NS + round(load_s * 1e9)
    over_tcp, addresses = trial.congestion_control is not None, plan_of(trial)
    return [
        ConnectionLoad(
            client=with_port(addresses.client, FIRST_PORT + number),
            server=with_port(addresses.server, SERVER_PORT),
            ip_protocol=TCP if over_tcp else UDP,
            quic=not over_tcp,
            began_ns=EPOCH_NS,
            secure_ns=secure_ns,
            first_byte_ns=(secure_ns + end_ns) // 2,
            end_ns=end_ns,
            size_bytes=sum(expected.bytes for expected in job.content.expected.values()),
            moves_to=with_port(addresses.second_client, FIRST_PORT + number) if trial.has_second_path else "",
        )
        for number in range(job.content.connections)
    ]


def _write_links(job: Job, loads: list[ConnectionLoad]) -> dict[str, dict[str, int]]:
    """Write the configuration and the log of each link of a trial; return the counters of all of them."""
    trial, folder = job.trial, Path(job.folder)
    path = path_of(job, trial.link)
    packets = [each for load in loads for each in packets_of(load, path, f"{trial.id} {trial.seed} {load.client}")]
    carried = {MAIN: packets}
    if trial.has_second_path:
        moved = {load.moves_to for load in loads}
        carried[MAIN] = [each for each in packets if each.client not in moved]
        carried[SECOND] = [each for each in packets if each.client in moved]
    if trial.has_middle:
        carried[BEHIND] = through(packets, path_of(job, trial.links[BEHIND]))
    counters: dict[str, dict[str, int]] = {}
    for name, link in trial.links.items():
        text = link_text(link, trial.seed, _LINGER_NS, phase_ns=trial.start_phase_ns, in_full=False)
        (folder / link_file(name, ".json")).write_text(text)
        counted = write_link_log(folder / link_file(name, ".bin"), carried[name], json.loads(text))
        counters |= {counter_name(name, way): of for way, of in counted.items()}
    return counters
