"""A server for the page of one run: on this machine alone, for whoever knows its address, and for reading only.

The address has a random token. A request is refused unless its `Host` is the printed one: a foreign name that
leads to this machine (DNS rebinding) is another host.
"""

import hmac
import json
import secrets
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, ClassVar

LOOPBACK = "127.0.0.1"
_TOKEN_BYTES = 24
_TIMEOUT_S = 10.0


class PageServer:
    """Serves files from memory below an address with a token; a context manager.

    `files` are by name: a function returns the type and the text of each. `nonce` is for the page's own script.
    """

    def __init__(self, files: Mapping[str, Callable[[], tuple[str, str]]], port: int = 0) -> None:
        """Take the files, and a port; 0 is any that is free. OSError if the port is in use."""
        self.nonce = secrets.token_urlsafe(_TOKEN_BYTES)
        self._token = secrets.token_urlsafe(_TOKEN_BYTES)
        handler = type("Handler", (_Handler,), {"files": files, "token": self._token, "nonce": self.nonce})
        self._server = ThreadingHTTPServer((LOOPBACK, port), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="page", daemon=True)

    @property
    def port(self) -> int:
        """The port."""
        return int(self._server.server_address[1])

    @property
    def address(self) -> str:
        """The address of the page, with its token."""
        return f"http://{LOOPBACK}:{self.port}/{self._token}/"

    def __enter__(self) -> "PageServer":
        """Begin to serve."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    files: ClassVar[Mapping[str, Callable[[], tuple[str, str]]]] = MappingProxyType({})
    token: ClassVar[str] = ""
    nonce: ClassVar[str] = ""
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "longlook", ""
    timeout = _TIMEOUT_S
    error_message_format, error_content_type = "%(code)d\n", "text/plain"

    def do_GET(self) -> None:
        """Answer with a file."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Answer with a file's head."""
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        port = self.connection.getsockname()[1]
        if self.headers.get_all("Host") not in ([f"{LOOPBACK}:{port}"], [f"localhost:{port}"]):
            self._refuse(HTTPStatus.FORBIDDEN, "this page has another address")
            return
        _, _, rest = self.path.partition("/")
        token, _, name = rest.partition("/")
        file = self.files.get(name) if hmac.compare_digest(token.encode(), self.token.encode()) else None
        if file is None:
            self._refuse(HTTPStatus.NOT_FOUND, "no such page")
            return
        kind, text = file()
        self._send(HTTPStatus.OK, kind, text, with_body=with_body)

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        self.close_connection = True
        self._send(status, "text/plain", f"{text}\n", with_body=True)

    def _send(self, status: HTTPStatus, kind: str, text: str, *, with_body: bool) -> None:
        data = text.encode()
        policy = (
            f"default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{self.nonce}'; connect-src 'self'; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        headers = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(data)),
            "Cache-Control": "no-store",
            "Content-Security-Policy": policy,
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (its name in the base class)
        """Print nothing: the terminal shows the run."""


def as_json(data: object) -> tuple[str, str]:
    """Return the type and the text of a file with JSON."""
    return "application/json", json.dumps(data, allow_nan=False)
