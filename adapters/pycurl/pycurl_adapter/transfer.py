"""One request and its answer."""

import hashlib
from typing import Any

import pycurl
from longlook_adapter.clock import now_ns

_SPOKEN = {
    pycurl.CURL_HTTP_VERSION_3: "h3",
    pycurl.CURL_HTTP_VERSION_2_0: "h2",
    pycurl.CURL_HTTP_VERSION_1_1: "http/1.1",
    pycurl.CURL_HTTP_VERSION_1_0: "http/1.0",
}


class Transfer:
    """One request and its answer; None where something was not seen."""

    def __init__(self, path: str, t_start_ns: int) -> None:
        self.path = path
        self.t_start_ns = t_start_ns
        self.t_first_byte_ns: int | None = None
        self.t_end_ns: int | None = None
        self.protocol: str | None = None
        self.status: int | None = None
        self.bytes = 0
        self.error: str | None = None
        self._sha256 = hashlib.sha256()

    @property
    def digest(self) -> str | None:
        """Return the digest of the body; None where it did not end."""
        return None if self.t_end_ns is None else f"sha256:{self._sha256.hexdigest()}"

    def listen(self, handle: Any) -> None:
        """Take the data that arrives for a handle."""
        handle.setopt(pycurl.HEADERFUNCTION, self._header)
        handle.setopt(pycurl.WRITEFUNCTION, self._body)

    def end(self, handle: Any, error: str | None) -> None:
        """Note the end of the transfer."""
        self.status = handle.getinfo(pycurl.RESPONSE_CODE) or None
        if self.status is not None:
            self.protocol = _SPOKEN.get(handle.getinfo(pycurl.INFO_HTTP_VERSION))
        if error is None:
            self.t_end_ns = now_ns()
            if self.status != 200:
                error = f"HTTP status {self.status}"
        self.error = error

    def _header(self, _line: bytes) -> None:
        if self.t_first_byte_ns is None:
            self.t_first_byte_ns = now_ns()

    def _body(self, data: bytes) -> None:
        self.bytes += len(data)
        self._sha256.update(data)
