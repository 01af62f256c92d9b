"""An echo over QUIC: a connection for each size, whose padded packets and DATAGRAM frames fill UDP payloads of it."""

import asyncio

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import DatagramFrameReceived, HandshakeCompleted, QuicEvent
from longlook_adapter.addresses import source_address
from longlook_adapter.clock import now_ns
from longlook_adapter.lines import emit, endpoint

from echo_adapter import ALPN, QUIC
from echo_adapter.job import EchoJob
from echo_adapter.sockets import SET, make_socket, too_large

LARGEST_FRAME_BYTES = 65_535

_OVERHEAD_BYTES = 1 + 8 + 2 + 16 + 1 + 2
"""Of a packet with one DATAGRAM frame by aioquic: first byte, connection id, number, tag; type and length."""


async def run(job: EchoJob) -> None:
    """Try all sizes, and print a line for each."""
    settings = QuicConfiguration(
        is_client=True, alpn_protocols=[ALPN], server_name=job.host, max_datagram_frame_size=LARGEST_FRAME_BYTES
    )
    settings.load_verify_locations(job.ca)
    for payload_bytes in job.payloads:
        await _try(job, settings, payload_bytes)


async def _try(job: EchoJob, settings: QuicConfiguration, payload_bytes: int) -> None:
    """Open a connection with packets of one size, and send DATAGRAM frames that fill one until it is answered.

    The handshake has as long as all tries together, and then the tries have their own time.
    """
    loop = asyncio.get_running_loop()
    settings.max_datagram_size = payload_bytes
    sock = make_socket(job.address, SET)
    sock.setblocking(False)
    sock.bind((source_address((job.address, job.port)), 0))
    local = endpoint(sock.getsockname())
    connection = _Connection(QuicConnection(configuration=settings), job, local)
    transport, _ = await loop.create_datagram_endpoint(lambda: connection, sock=sock)
    tries, answered_ns = 0, None
    try:
        connection.open()
        await connection.reached(connection.secure, job.tries * job.interval_s)
        while connection.secure.is_set() and tries < job.tries and answered_ns is None:
            tries += 1
            connection.send(tries.to_bytes(4, "big") + bytes(payload_bytes - _OVERHEAD_BYTES - 4))
            await connection.reached(connection.answered, job.interval_s)
            answered_ns = connection.answered_ns
    finally:
        emit(
            "echo", payload_bytes=payload_bytes, tries=tries, t_start_ns=connection.started_ns,
            t_answer_ns=answered_ns, t_end_ns=now_ns() if answered_ns is None else answered_ns,
            refused=connection.refused,
        )  # fmt: skip
        connection.close()
        transport.close()
        await asyncio.sleep(0)  # the transport closes its socket in the next turn of the loop


class _Connection(QuicConnectionProtocol):  # type: ignore[misc]  # the linter does not see aioquic
    """One connection; `refused` is the kernel's reason where it does not send its packets."""

    def __init__(self, quic: QuicConnection, job: EchoJob, local: str) -> None:
        super().__init__(quic)
        self._remote, self._local = (job.address, job.port), local
        self.secure, self.answered, self._refused = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.started_ns = 0
        self.answered_ns: int | None = None
        self.refused: str | None = None
        self._sent: set[bytes] = set()

    def open(self) -> None:
        """Send the first packet."""
        self.started_ns = now_ns()
        self.connect(self._remote)

    def send(self, data: bytes) -> None:
        """Send a DATAGRAM frame."""
        self._sent.add(data)
        self._quic.send_datagram_frame(data)
        self.transmit()

    async def reached(self, event: asyncio.Event, within_s: float) -> None:
        """Wait for an event of this connection, or for the kernel's refusal, for so long at most."""
        waiting = [asyncio.ensure_future(each.wait()) for each in (event, self._refused)]
        await asyncio.wait(waiting, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
        for each in waiting:
            each.cancel()

    def error_received(self, exc: Exception) -> None:
        """Note that a packet did not leave; other errors of a socket are silence on the path."""
        if isinstance(exc, OSError) and too_large(exc):
            self.refused = exc.strerror
            self._refused.set()

    def quic_event_received(self, event: QuicEvent) -> None:
        """Take an event from aioquic."""
        if isinstance(event, HandshakeCompleted):
            emit(
                "connection", protocol=QUIC, local=self._local, remote=endpoint(self._remote), primes=False,
                resumed=event.session_resumed, used_0rtt=event.early_data_accepted, t_start_ns=self.started_ns,
                t_handshake_ns=now_ns(), gso=False,
            )  # fmt: skip
            self.secure.set()
        elif isinstance(event, DatagramFrameReceived) and event.data in self._sent and self.answered_ns is None:
            self.answered_ns = now_ns()
            self.answered.set()
