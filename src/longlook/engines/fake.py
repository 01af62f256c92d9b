"""Engine `fake`: made-up results in no time, for tests of what comes after an engine. No study can name it."""

import math
import random
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from longlook.core.job import Job
from longlook.core.model import ConnectionState, Outcome, Run, Stage
from longlook.engines import SequentialEngine
from longlook.lab.artefacts import digests, seal, write_json, write_lines
from longlook.network import trace_store
from longlook.network.varying import mean, resolved

_EPOCH_NS = 1_700_000_000_000_000_000
_FALLBACK_RATE_BPS = 100e6
_HANDSHAKE_ROUND_TRIPS = {"h3": 1, "h2": 2}
_CLIENT, _FIRST_PORT, _SERVER = "198.18.0.1", 40000, "198.18.0.2:443"


class FakeEngine(SequentialEngine):
    """Makes results up that depend on the trial alone: on its id, seed, link, protocol and content.

    A load takes the handshake's round trips, one more for the request, and the bytes of all connections at the link's
    rate, all times `factors[arm]` (1 where an arm is not named) and times log-normal noise of `sigma`. `outcomes` maps
    trial ids to outcomes other than ok. Artefacts are `client.jsonl` and `server.jsonl`; there is no link log.
    """

    name = "fake"

    def __init__(
        self,
        outcomes: Mapping[str, Outcome] | None = None,
        factors: Mapping[str, float] | None = None,
        sigma: float = 0.02,
    ) -> None:
        self.outcomes = dict(outcomes or {})
        self.factors = dict(factors or {})
        self.sigma = sigma
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
        load_s = self._load_s(job)
        write_json(folder / "trial.json", trial)
        write_lines(folder / "client.jsonl", _client_lines(job, load_s, arrived=outcome is Outcome.OK))
        write_lines(folder / "server.jsonl", _server_lines(job))
        run = Run(
            trial_id=trial.id,
            outcome=outcome,
            reason=None if outcome is Outcome.OK else f"made to end as {outcome}",
            hint=None,
            attempt=job.attempt,
            engine=self.name,
            started_unix_ns=_EPOCH_NS,
            setup_s=0.0,
            measure_s=load_s,
            teardown_s=0.0,
            programs={role: program.digest for role, program in job.programs.items()},
            artefacts=digests(folder),
            cpu_s={"client": load_s / 20, "server": load_s / 30, "link": load_s / 40},
            link={},
            guard={},
        )
        seal(folder, run)
        return run

    def _load_s(self, job: Job) -> float:
        trial = job.trial
        noise = random.Random(f"{trial.id} {trial.seed} {job.attempt}").gauss(0.0, self.sigma)  # noqa: S311
        size_bits = 8 * job.content.connections * sum(expected.bytes for expected in job.content.expected.values())
        ideal_s = (_round_trips(job) + 1) * _round_trip_s(job) + size_bits / _rate_bps(job)
        return ideal_s * self.factors.get(trial.arm, 1.0) * math.exp(noise)


def _round_trips(job: Job) -> int:
    early = job.trial.connection is ConnectionState.ZERO_RTT
    return 0 if early else _HANDSHAKE_ROUND_TRIPS.get(job.trial.protocol, 1)


def _round_trip_s(job: Job) -> float:
    stages = (*job.trial.link.up, *job.trial.link.down)
    return sum(_mean(job, stage, "delay_ns") for stage in stages if stage.kind == "delay") / 1e9


def _rate_bps(job: Job) -> float:
    rates = [_mean(job, stage, "rate_bps") for stage in job.trial.link.down if "rate_bps" in stage.parameters]
    return min(rates, default=_FALLBACK_RATE_BPS)


def _mean(job: Job, stage: Stage, name: str) -> float:
    return float(mean(resolved(stage, lambda digest: trace_store.load(digest, job.traces)).parameters[name]))


def _addresses(job: Job) -> list[str]:
    """Return the addresses of the client's connections."""
    return [f"{_CLIENT}:{_FIRST_PORT + number}" for number in range(job.content.connections)]


def _client_lines(job: Job, load_s: float, *, arrived: bool) -> list[Mapping[str, Any]]:
    return [line for local in _addresses(job) for line in _connection_lines(job, local, load_s, arrived=arrived)]


def _connection_lines(job: Job, local: str, load_s: float, *, arrived: bool) -> list[Mapping[str, Any]]:
    trial = job.trial
    handshake_ns = _EPOCH_NS + round(_round_trips(job) * _round_trip_s(job) * 1e9)
    end_ns = _EPOCH_NS + round(load_s * 1e9)
    common = {"protocol": trial.protocol}
    lines: list[Mapping[str, Any]] = [
        {
            "event": "connection",
            "local": local,
            "remote": _SERVER,
            "primes": False,
            "t_start_ns": _EPOCH_NS,
            "t_handshake_ns": handshake_ns,
            **_state(job),
            **common,
        }
    ]
    for path, expected in job.content.expected.items():
        answer = {
            "status": 200,
            "t_first_byte_ns": (handshake_ns + end_ns) // 2,
            "t_end_ns": end_ns,
            "bytes": expected.bytes,
            "digest": expected.digest,
            "error": None,
        }
        nothing = {**dict.fromkeys(answer), "error": "made to fail"}
        lines.append(
            {
                "event": "object",
                "url": f"https://{job.identity.host}{path}",
                "path": path,
                "local": local,
                "t_start_ns": _EPOCH_NS,
                **(answer if arrived else nothing),
                **common,
            }
        )
    return lines


def _server_lines(job: Job) -> list[Mapping[str, Any]]:
    line: dict[str, Any] = {
        "event": "connection",
        "protocol": job.trial.protocol,
        "local": _SERVER,
        "t_handshake_ns": _EPOCH_NS + round(_round_trips(job) * _round_trip_s(job) * 1e9),
        **_state(job),
    }
    if job.trial.congestion_control is not None:
        line["congestion_control"] = job.trial.congestion_control
    return [{**line, "remote": remote} for remote in _addresses(job)]


def _state(job: Job) -> dict[str, bool]:
    state = job.trial.connection
    return {"resumed": state is not ConnectionState.COLD, "used_0rtt": state is ConnectionState.ZERO_RTT}
