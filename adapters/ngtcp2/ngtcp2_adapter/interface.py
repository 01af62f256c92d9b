"""Behind one interface: the types and functions that are not the same before and since ngtcp2 1.0."""

import ctypes as c
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ngtcp2_adapter.abi import INT, SIZE, U8, U64, P


@dataclass(frozen=True)
class Codes:
    """Error codes of ngtcp2, and the one of nghttp3 for a stream that it does not know."""

    stream_data_blocked: int
    stream_shut_wr: int
    stream_not_found: int
    write_more: int
    crypto: int
    draining: int
    no_such_http_stream: int


def declare(library: c.CDLL, name: str, result: type | None, *arguments: type) -> None:
    """Declare the types of a function; AttributeError if the library does not have it."""
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments


class Interface(ABC):
    """Types as the headers lay them out, error codes, and the functions whose name or arguments changed."""

    Settings: type[c.Structure]
    Parameters: type[c.Structure]
    Callbacks: type[c.Structure]
    HttpSettings: type[c.Structure]
    HttpCallbacks: type[c.Structure]
    codes: Codes
    algorithms: ClassVar[Mapping[str, int]]
    early_data_rejected: str
    """The name of the callback for early data that the server refused."""
    _closing: tuple[str, str, str]
    """The functions that set the error of a closing connection: of the application, of the library, of TLS."""

    def __init__(self, quic: c.CDLL) -> None:
        self._quic = quic
        of_application, of_library, of_tls = self._closing
        declare(quic, of_application, None, P, U64, P, SIZE)
        declare(quic, of_library, None, P, INT, P, SIZE)
        declare(quic, of_tls, None, P, U8, P, SIZE)

    def close_by_application(self, error: Any, code: int) -> None:
        """Set an error code of the application."""
        getattr(self._quic, self._closing[0])(c.byref(error), code, None, 0)

    def close_by_library(self, error: Any, code: int) -> None:
        """Set the error code of QUIC that stands for a code of the library."""
        getattr(self._quic, self._closing[1])(c.byref(error), code, None, 0)

    def close_by_tls(self, error: Any, alert: int) -> None:
        """Set the error code of an alert of TLS."""
        getattr(self._quic, self._closing[2])(c.byref(error), alert, None, 0)

    @abstractmethod
    def name_origin(self, settings: Any, parameters: Any, dcid: Any, *, server: bool) -> None:
        """Name the connection id that the client's first packet had."""

    @abstractmethod
    def set_trace(self, settings: Any, write: Any) -> None:
        """Let ngtcp2 write its trace by a function."""

    @abstractmethod
    def shut(self, conn: Any, side: str, stream: int, code: int) -> int:
        """Abandon a stream's side, `read` or `write`; return a code of the library."""

    @abstractmethod
    def refused_early_data(self, conn: Any) -> bool:
        """Return whether the server refused a client's early data."""

    @abstractmethod
    def remember(self, conn: Any) -> Any:
        """Return what a client has to know of the server's transport parameters for early data."""

    @abstractmethod
    def recall(self, conn: Any, parameters: Any) -> None:
        """Apply what `remember` returned to a new connection."""
