"""Python's `http.server` over TLS: HTTP/1.0, which ends the connection after each file."""

import signal
import socket
import ssl
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path
from shutil import copyfileobj
from typing import Any, BinaryIO

from longlook_adapter.addresses import family_of
from longlook_adapter.clock import now_ns
from longlook_adapter.files import Files, content_type
from longlook_adapter.knobs import parse_knobs, truth
from longlook_adapter.options import Options

from python_http_adapter.tls import PROTOCOL, context, report, report_connection

VERSION = "0.6"
"""What `http.server` calls itself in the answers of its handler of files."""
KNOBS = {"threads": truth}
_QUEUED_CONNECTIONS = 128
"""How many connections wait for the one thread; Python's own 5 would make the kernel drop what a page opens at once."""


def run(options: Options) -> None:
    """Serve until SIGTERM."""
    knobs = parse_knobs(options.knobs, KNOBS, "Python's http.server")
    files = Files[BinaryIO](options.www, lambda path: path.open("rb"))
    tls = context(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(options.certificate, options.key)
    kind = ThreadingHTTPServer if knobs.get("threads", False) else HTTPServer
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    with _listening(kind, options, files, tls) as server:
        address, port = server.server_address[:2]
        report("ready", role="server", protocol=PROTOCOL, address=address, port=port, version=VERSION)
        server.serve_forever()


def _listening(kind: type[HTTPServer], options: Options, files: Files[BinaryIO], tls: ssl.SSLContext) -> HTTPServer:
    """Return a server of `kind` that listens; the handshake of a connection is made where its request is answered."""

    class Handler(_Handler):
        def setup(self) -> None:
            self.files = files
            self.request = tls.wrap_socket(self.request, server_side=True)
            report_connection(self.request, now_ns())
            super().setup()

    class Server(kind):  # type: ignore[misc, valid-type]
        address_family = family_of(options.address)
        request_queue_size = _QUEUED_CONNECTIONS

        def server_bind(self) -> None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.socket.bind((options.address, options.port))  # HTTPServer's own would look the address's name up
            self.server_address = self.socket.getsockname()

        def handle_error(self, request: Any, client_address: Any) -> None:
            print(f"{client_address}: {sys.exc_info()[1]!r}", file=sys.stderr)

    return Server((options.address, options.port), Handler)


class _Handler(BaseHTTPRequestHandler):
    """Answers one request with a file, without a redirect or a list of a folder's contents."""

    files: Files[BinaryIO]
    request: ssl.SSLSocket

    def do_GET(self) -> None:
        file = self.files.open(self.path)
        if file is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        with file:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", content_type(Path(file.name)))
            self.send_header("Content-Length", str(Path(file.name).stat().st_size))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            copyfileobj(file, self.wfile)

    def finish(self) -> None:
        """End the answer, then the connection: the server knows it by the socket without TLS, which is gone."""
        super().finish()
        self.request.shutdown(socket.SHUT_WR)
        self.request.close()

    def log_message(self, *_: Any) -> None:
        """Write no line for each request: the client's lines have them."""
