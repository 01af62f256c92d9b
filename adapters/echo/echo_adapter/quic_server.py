"""An echo over QUIC: DATAGRAM frames go back to where they came from, in packets as large as the client's first."""

import asyncio
import signal
from dataclasses import replace
from typing import Any

import aioquic
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import QuicServer
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import DatagramFrameReceived, HandshakeCompleted, QuicEvent
from longlook_adapter.clock import now_ns
from longlook_adapter.lines import emit, endpoint
from longlook_adapter.options import Options

from echo_adapter import ALPN, QUIC, SMALLEST_QUIC_BYTES
from echo_adapter.quic_client import LARGEST_FRAME_BYTES
from echo_adapter.sockets import SET, dont_fragment_of, make_socket


async def run(options: Options) -> None:
    """Answer until SIGTERM or SIGINT."""
    dont_fragment_of(options.knobs, QUIC)  # there are no knobs
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    settings = QuicConfiguration(is_client=False, alpn_protocols=[ALPN], max_datagram_frame_size=LARGEST_FRAME_BYTES)
    settings.load_cert_chain(options.certificate, options.key)
    sock = make_socket(options.address, SET)
    sock.setblocking(False)
    sock.bind((options.address, options.port))
    address = sock.getsockname()
    _, server = await loop.create_datagram_endpoint(lambda: _Server(settings, endpoint(address)), sock=sock)
    emit("ready", role="server", protocol=QUIC, address=address[0], port=address[1], version=aioquic.__version__)
    await stopped.wait()
    server.close()


class _Server(QuicServer):  # type: ignore[misc]  # the linter does not see aioquic
    """Gives each new connection packets of the size of the datagram that opened it."""

    def __init__(self, settings: QuicConfiguration, local: str) -> None:
        super().__init__(configuration=settings, create_protocol=lambda quic, **_: _Connection(quic, local))
        self._settings = settings

    def datagram_received(self, data: bytes | str, addr: Any) -> None:
        """Take a datagram: the configuration counts for a connection that it opens, and for no other."""
        self._configuration = replace(self._settings, max_datagram_size=max(len(data), SMALLEST_QUIC_BYTES))
        super().datagram_received(data, addr)


class _Connection(QuicConnectionProtocol):  # type: ignore[misc]  # the linter does not see aioquic
    """One accepted connection."""

    def __init__(self, quic: Any, local: str) -> None:
        super().__init__(quic)
        self._local = local

    def quic_event_received(self, event: QuicEvent) -> None:
        """Take an event from aioquic."""
        if isinstance(event, HandshakeCompleted):
            emit(
                "connection", protocol=QUIC, local=self._local, remote=endpoint(self._quic._network_paths[0].addr),
                resumed=event.session_resumed, used_0rtt=event.early_data_accepted, t_handshake_ns=now_ns(), gso=False,
            )  # fmt: skip
        elif isinstance(event, DatagramFrameReceived):
            self._quic.send_datagram_frame(event.data)
            self.transmit()
