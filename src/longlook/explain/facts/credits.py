"""The limits that a trial's ends begin with, from their logs, else as the study set them. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from longlook.core import Scalar, Trial
from longlook.explain.facts.sender import SenderFacts
from longlook.timeline import Timeline


@dataclass(frozen=True)
class FirstCredits:
    """The bytes that a client lets a server send before it opens its windows further; None: no log or knob says."""

    stream_bytes: int | None
    connection_bytes: int | None

    @classmethod
    def of(cls, trial: Trial, server: SenderFacts | None, clients: Sequence[SenderFacts]) -> "FirstCredits":
        """Return the transport parameters (RFC 9000, 18.2) of a server's client as either end logged them.

        If neither logs them, the client's knobs count.
        """
        logged = [one.parameters.get("local", {}) for one in clients if server is None or one.flow == server.flow]
        if server is not None:
            logged.append(server.parameters.get("remote", {}))
        knobs = trial.client.knobs
        return cls(
            _smallest(logged, "initial_max_stream_data_bidi_local", knobs.get("initial_stream_window")),
            _smallest(logged, "initial_max_data", knobs.get("initial_connection_window")),
        )


@dataclass(frozen=True)
class Http2Windows:
    """The bytes that an HTTP/2 client lets a server send before it opens its windows further; None: nobody says."""

    stream_bytes: int | None
    connection_bytes: int | None

    @classmethod
    def of(cls, timeline: Timeline, trial: Trial, flow: str) -> "Http2Windows":
        """Return the windows that a connection's client reported, else the windows that the study set."""
        reported = timeline.metadata.get("http2_windows", {}).get(flow, {})
        knobs = trial.client.knobs

        def window(name: str) -> int | None:
            value = reported.get(name, knobs.get(f"http2_{name}_window"))
            return value if isinstance(value, int) else None

        return cls(window("stream"), window("connection"))


def configured_buffer_bytes(trial: Trial) -> int | None:
    """Return the size of a QUIC server's buffer of data that is not acknowledged; None if no knob sets it."""
    value = trial.server.knobs.get("send_buffer")
    return value if isinstance(value, int) else None


def _smallest(logged: Sequence[Mapping[str, object]], name: str, knob: Scalar | None) -> int | None:
    found = [value for each in logged if isinstance(value := each.get(name), int)]
    if found:
        return min(found)
    return knob if isinstance(knob, int) else None
