"""The server: files over HTTP/1.1 until SIGTERM."""

import asyncio
import signal
import ssl
from pathlib import Path

from longlook_adapter.clock import now_ns
from longlook_adapter.files import Files, content_type, response_headers
from longlook_adapter.knobs import parse_knobs
from longlook_adapter.lines import emit, endpoint
from longlook_adapter.options import Options

from example_adapter import ALPN, PROTOCOL, VERSION, congestion_control, restrict

_CHUNK_BYTES = 64 << 10
_CLOSE_WITHIN_S = 0.5  # the contract allows one second from SIGTERM to the end


async def run(options: Options) -> None:
    """Serve until SIGTERM, then close every connection properly; the exit code is 0 then.

    An unreadable certificate or a port in use is an OSError, which `main` turns into an `error` line and exit code 1.
    """
    parse_knobs(options.knobs, {}, "example")  # this stack has no knobs: one that is asked for is unsupported (127)
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    context = restrict(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    context.load_cert_chain(options.certificate, options.key)
    site = _Site(Files(options.www, lambda path: path))
    server = await asyncio.start_server(site.accept, options.address, options.port, ssl=context)
    host, port = server.sockets[0].getsockname()[:2]  # the port that the kernel chose where 0 was asked for
    emit("ready", role="server", protocol=PROTOCOL, address=host, port=port, version=VERSION)
    await stopped.wait()
    server.close()
    await site.close()


class _Site:
    """The files, and the connections that are open."""

    def __init__(self, files: Files[Path]) -> None:
        self._files = files
        self._open: dict[asyncio.StreamWriter, None] = {}  # a set would be in the order of addresses in memory

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Report a connection whose handshake is complete, and answer its requests one after another.

        A client that offered another protocol is not served and not reported.
        """
        tls = writer.get_extra_info("ssl_object")
        self._open[writer] = None
        try:
            if tls.selected_alpn_protocol() == ALPN:
                self._report(writer, resumed=bool(tls.session_reused))
                while True:
                    head = await reader.readuntil(b"\r\n\r\n")
                    await self._answer(writer, head.decode("latin-1").partition("\r\n")[0])
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass  # the client has closed the connection, or does not speak HTTP
        finally:
            del self._open[writer]
            writer.close()

    def _report(self, writer: asyncio.StreamWriter, *, resumed: bool) -> None:
        """Print the `connection` line, from which the trial's state and congestion control are proven."""
        emit(
            "connection",
            protocol=PROTOCOL,
            local=endpoint(writer.get_extra_info("sockname")),
            remote=endpoint(writer.get_extra_info("peername")),
            resumed=resumed,
            used_0rtt=False,
            t_handshake_ns=now_ns(),
            congestion_control=congestion_control(writer.get_extra_info("socket")),
        )

    async def _answer(self, writer: asyncio.StreamWriter, request: str) -> None:
        """Answer with a file as it is: no redirects, no compression, `Cache-Control: no-store`."""
        method, _, rest = request.partition(" ")
        file = self._files.open(rest.partition(" ")[0])
        if method not in ("GET", "HEAD") or file is None:
            status = "404 Not Found" if file is None else "405 Method Not Allowed"
            writer.write(f"HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n".encode())
            return
        fields = response_headers(file.stat().st_size, content_type(file))[1:]  # the first is `:status`
        lines = (b"HTTP/1.1 200 OK", *(b"%s: %s" % field for field in fields), b"\r\n")
        writer.write(b"\r\n".join(lines))
        with file.open("rb") as body:
            while method == "GET" and (chunk := body.read(_CHUNK_BYTES)):
                writer.write(chunk)
                await writer.drain()  # or a large file would be in memory as a whole
                await asyncio.sleep(0)  # drain need not yield, and a client that has gone is noticed only by the loop

    async def close(self) -> None:
        """Close all connections, as TLS and TCP want it, and wait a moment for the clients to do the same."""
        writers = list(self._open)
        for writer in writers:
            writer.close()
        if writers:
            await asyncio.wait([asyncio.ensure_future(each.wait_closed()) for each in writers], timeout=_CLOSE_WITHIN_S)
