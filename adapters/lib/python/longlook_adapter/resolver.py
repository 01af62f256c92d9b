"""A resolver for the browser beside it: DNS over HTTPS (RFC 8484) on loopback, maybe with HTTPS records (RFC 9460).

It knows the names of one domain, all of which lead to one address. A browser asks it in real DNS messages, which
dnspython reads and writes.
"""

import base64
import binascii
import ipaddress
import ssl
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import dns.exception
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

LOOPBACK = "127.0.0.1"
PATH = "/dns-query"
ALPN = 'alpn="h3,h2"'
"""What an HTTPS record says: the host speaks HTTP/3 and HTTP/2, on the port of the URL."""

_TTL_S = 300
_TYPE = "application/dns-message"
_LARGEST_QUERY_BYTES = 65_535


class Resolver:
    """Use as a context manager: a thread answers until its end. `has_record` may change between jobs."""

    def __init__(self, domain: str, address: str, certificate: str, key: str) -> None:
        self.has_record = False
        self._domain = dns.name.from_text(domain)
        self._address = ipaddress.ip_address(address)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server = _Server((LOOPBACK, 0), _handler(self.answer))
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    @property
    def port(self) -> int:
        """Return the port on loopback where it listens."""
        return int(self._server.server_address[1])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, query: bytes) -> bytes:
        """Return the answer to a message; dns.exception.DNSException where it is none."""
        asked = dns.message.from_wire(query)
        made = dns.message.make_response(asked, recursion_available=True)
        for question in asked.question:
            if not question.name.is_subdomain(self._domain):
                made.set_rcode(dns.rcode.NXDOMAIN)
            elif text := self._data(question.name, question.rdtype):
                kind = dns.rdatatype.to_text(question.rdtype)
                made.answer.append(dns.rrset.from_text(question.name, _TTL_S, "IN", kind, text))
        return bytes(made.to_wire())

    def _data(self, name: dns.name.Name, kind: dns.rdatatype.RdataType) -> str | None:
        addresses = dns.rdatatype.A if self._address.version == 4 else dns.rdatatype.AAAA
        if kind == addresses:
            return str(self._address)
        return f"1 {_host(name)} {ALPN}" if kind == dns.rdatatype.HTTPS and self.has_record else None


def _host(name: dns.name.Name) -> str:
    """Return the host that a record is about as its target: of `_8443._https.HOST`, asked for other ports than 443, it
    has to be named (RFC 9460, 9.1).
    """
    return dns.name.Name(name.labels[2:]).to_text() if name.labels[0].startswith(b"_") else "."


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Let a browser close a connection when it likes; anything else is shown."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _handler(answer: Callable[[bytes], bytes]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            text = parse_qs(urlsplit(self.path).query).get("dns", [""])[0]
            self._reply(text.encode() + b"=" * (-len(text) % 4), base64.urlsafe_b64decode)

        def do_POST(self) -> None:
            size = min(int(self.headers.get("content-length") or 0), _LARGEST_QUERY_BYTES)
            self._reply(self.rfile.read(size), bytes)

        def _reply(self, query: bytes, decode: Callable[[bytes], bytes]) -> None:
            try:
                body = answer(decode(query))
            except (dns.exception.DNSException, binascii.Error) as error:
                self.send_error(400, str(error))
                return
            self.send_response(200)
            self.send_header("content-type", _TYPE)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
