"""The proof of how the frames of a live source travel."""

from collections.abc import Mapping
from dataclasses import replace

from longlook.core import Workload
from longlook.instruments.conformance.checks import Check, CheckFinding, verdict
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.proofs.ask import Ask

LIVE = Workload(
    "live",
    {
        "rate_bps": 1_000_000,
        "frame_interval_s": 0.1,
        "length_s": 2.0,
        "drain_s": 1.0,
        "key_frame_every": 0,
        "key_frame_factor": 1,
        "deadline_s": 0.4,
        "drop_after_s": 0.0,
    },
)
_FRAMES = 20
_SERVERS = 3
"""The number of the first stream that only the server writes to (RFC 9000, 2.1); the next is 4 further on."""


def carrier(ask: Ask) -> Check:
    """Send the same frames in each way, and count the server's streams and datagrams in the client's log."""

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        found = {name: _carried(each) for name, each in seen.items()}
        held = [each.ok and _fits(name, *found[name]) for name, each in seen.items()]
        counts = (f"{name}: {streams} streams, {datagrams} datagrams" for name, (streams, datagrams) in found.items())
        return verdict(all(held), "; ".join(counts))

    wants = {str(value): ask.want({ask.name: value}, None, LIVE) for value in ask.knob.choices}
    return ask.check({name: replace(want, qlog=True) for name, want in wants.items()}, judge)


def _fits(carrier: str, streams: int, datagrams: int) -> bool:
    if carrier == "datagrams":
        return streams == 0 and datagrams >= _FRAMES
    return datagrams == 0 and streams == (1 if carrier == "one_stream" else _FRAMES)


def _carried(seen: Seen) -> tuple[int, int]:
    """Return the number of the server's own streams, and of DATAGRAM frames, that the client received."""
    frames = [
        frame
        for event in seen.qlogs.get("client", ())
        if event.name == "packet_received" and isinstance(listed := event.data.get("frames"), list)
        for frame in listed
        if isinstance(frame, dict)
    ]
    streams = {frame.get("stream_id") for frame in frames if frame.get("frame_type") == "stream"}
    own = [each for each in streams if isinstance(each, int) and each % 4 == _SERVERS]
    return len(own), sum(frame.get("frame_type") == "datagram" for frame in frames)


PROOFS = {"carrier": carrier}
