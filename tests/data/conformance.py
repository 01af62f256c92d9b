"""Hand-made evidence for the conformance proofs: packets, lines and logs as a trial would have left them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from longlook.core.model import Endpoint, Outcome
from longlook.core.stack import Knob
from longlook.instruments.conformance.checks import Want
from longlook.instruments.conformance.evidence import RouterPackets, Seen
from longlook.instruments.conformance.proofs.ask import Ask
from longlook.instruments.conformance.qlogs import Event
from tests.data import trials

DELAY_S = 0.05
DATA_BYTES = 1_200

Packet = tuple[float, bool, int]
"""When it was sent, whether by the client, payload in bytes."""


def packets(
    sent: Sequence[Packet], *, lost: Sequence[int] = (), delay_s: float = DELAY_S, **columns: Any
) -> RouterPackets:
    """Packets in order of their sending; `lost` are numbers in that order."""
    at = np.array([packet[0] for packet in sent], dtype=np.float64)
    left_s = at + delay_s
    left_s[list(lost)] = np.nan
    made = RouterPackets(
        sent_s=at,
        left_s=left_s,
        up=np.array([packet[1] for packet in sent], dtype=np.bool_),
        payload_bytes=np.array([packet[2] for packet in sent], dtype=np.int64),
        queue_bytes=np.zeros(len(sent), dtype=np.int64),
        ecn=np.zeros(len(sent), dtype=np.int64),
        short=np.ones(len(sent), dtype=np.bool_),
    )
    return replace(made, **columns)


def data(times_s: Sequence[float], size_bytes: int = DATA_BYTES) -> list[Packet]:
    """Packets of the server."""
    return [(float(time_s), False, size_bytes) for time_s in times_s]


def seen(
    sent: RouterPackets | None = None,
    client: Sequence[Mapping[str, Any]] = (),
    server: Sequence[Mapping[str, Any]] = (),
    qlogs: Mapping[str, Sequence[Event]] | None = None,
    **run: Any,
) -> Seen:
    """A trial that went well unless `run` says otherwise."""
    return Seen(
        run=trials.run(**{"link": {"down": {"dropped_queue": 0}}, **run}),
        lines={"client": client, "server": server},
        packets=packets([]) if sent is None else sent,
        qlogs={"client": (), "server": (), **(qlogs or {})},
        logs={"client": 0, "server": 0},
    )


FAILED: Mapping[str, Any] = {"outcome": Outcome.FAILED, "reason": "the client failed"}


def ask(name: str, knob: Knob, role: str, siblings: Mapping[str, Knob] | None = None) -> Ask:
    """A proof's question about a stack that does not exist."""
    end = Endpoint("made-up", "1.0")
    witness = Endpoint("quic-go", "0.65.0")
    return Ask(name, knob, role, "h3", end, end, witness, {name: knob, **(siblings or {})}, {})


def knob(kind: type = int, **more: Any) -> Knob:
    """A setting that anything may have."""
    return Knob(kind, None, None, "", **more)


def knobs_of(want: Want, role: str) -> Mapping[str, Any]:
    """Return the knobs of an endpoint."""
    return (want.server if role == "server" else want.client).knobs
