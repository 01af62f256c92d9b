"""The proof of the knob that says how the frames of a live source travel."""

from longlook.instruments.conformance.checks import CheckStatus
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.qlogs import Event
from tests.data.conformance import seen
from tests.unit.instruments.conformance.test_proofs import judged


def carried(streams: int, datagrams: int) -> Seen:
    """A client's log in which the server also answers on the client's own stream, 0."""
    numbers = [0, *(3 + 4 * number for number in range(streams))]
    frames = [{"frame_type": "stream", "stream_id": number} for number in numbers]
    events = [
        Event("packet_received", {"frames": [frame]}) for frame in [*frames, *[{"frame_type": "datagram"}] * datagrams]
    ]
    return seen(qlogs={"client": events})


def test_streams_and_datagrams_tell_the_carriers_apart() -> None:
    held = {"stream_per_frame": carried(20, 0), "one_stream": carried(1, 0), "datagrams": carried(0, 240)}
    assert judged("carrier", held).status is CheckStatus.PASSED
    for name in held:
        others = {**held, name: carried(5, 5)}
        assert judged("carrier", others).status is CheckStatus.FAILED
