"""A DevTools port on some machine: which browser answers there, and where its websocket is."""

import http.client
import json
import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from chromium_driver.remote.errors import ElsewhereError

ANSWER_LIMIT_S = 5.0
_FORWARD = "is it forwarded (adb forward tcp:{port} localabstract:chrome_devtools_remote), and does the browser run?"


@dataclass(frozen=True)
class Found:
    """The browser that answers at a DevTools port."""

    browser: str  # product and version, e.g. `Chrome/156.0.8078.79`
    user_agent: str
    package: str | None  # of Android
    socket: str  # the websocket's address

    @property
    def version(self) -> str:
        """Return the browser's version alone."""
        return self.browser.rpartition("/")[2]

    def identity(self) -> dict[str, Any]:
        """Return what makes it this browser; the websocket's address changes with every start."""
        return {"browser": self.browser, "user_agent": self.user_agent, "package": self.package}


def find(endpoint: str) -> Found:
    """Return the browser at HOST:PORT; ElsewhereError where none answers, or something that is no Chromium."""
    host, port = split(endpoint)
    try:
        address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0]
        connection = http.client.HTTPConnection(str(address), port, timeout=ANSWER_LIMIT_S)
        try:
            # A browser answers only where it is called by an address: names could be those of a web page.
            connection.request("GET", "/json/version")
            answer = json.loads(connection.getresponse().read())
        finally:
            connection.close()
    except OSError as error:
        why = error.strerror or str(error)
        raise ElsewhereError(f"no browser answers at {endpoint}: {why}; {_FORWARD.format(port=port)}") from error
    except (http.client.HTTPException, ValueError) as error:
        raise ElsewhereError(
            f"what answers at {endpoint} is no DevTools port: {error or type(error).__name__}"
        ) from error
    try:
        path = urlsplit(answer["webSocketDebuggerUrl"]).path
        browser, user_agent = str(answer["Browser"]), str(answer["User-Agent"])
    except (KeyError, TypeError) as error:
        raise ElsewhereError(f"what answers at {endpoint} is no DevTools port of a browser: {answer!r:.200}") from error
    if "chrome" not in browser.lower():
        raise ElsewhereError(f"the browser at {endpoint} is {browser}: only Chromium and Chrome are driven")
    shown = f"[{address}]" if ":" in str(address) else address
    return Found(browser, user_agent, answer.get("Android-Package"), f"ws://{shown}:{port}{path}")


def split(endpoint: str) -> tuple[str, int]:
    """Return host and port of HOST:PORT; ElsewhereError where it is none."""
    host, _, port = endpoint.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise ElsewhereError(f"{endpoint!r} is no HOST:PORT of a DevTools port, as in 127.0.0.1:9222")
    return host.strip("[]"), int(port)
