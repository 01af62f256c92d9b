"""picoquic's own C interface (picoquic.h, h3zero.h), in the extension module of the Python package aiopquic.

The module exports all of picoquic. It was made for another Python than the one that runs this: only its functions in C
are called, and `dlopen` binds the names that it wants of Python when they are used, which is never.
"""

import ctypes as c
import os
from pathlib import Path

U8, U32, U64, I64, INT, SIZE, P, TEXT = (
    *(c.c_uint8, c.c_uint32, c.c_uint64, c.c_int64, c.c_int, c.c_size_t, c.c_void_p, c.c_char_p),
)
Callback = c.CFUNCTYPE(INT, P, U64, P, SIZE, INT, P, P)
"""`picoquic_stream_data_cb_fn`: connection, stream, bytes, length, event, context, context of the stream."""
ADDRESS_BYTES = 128
"""Of a `struct sockaddr_storage`."""
LARGEST_PACKET = 1536

KEY_EXCHANGES = (c.c_uint16 * 3)(29, 23, 4588)
"""Groups of TLS in their order: X25519, P-256, X25519 with ML-KEM. It is the package's own order; picoquic alone begins
with ML-KEM, which some peers refuse.
"""
_ROOT = Path(__file__).resolve().parents[2]
_PACKAGE = "lib/python*/site-packages/aiopquic"


class Event:
    """Values of `picoquic_call_back_event_t`."""

    STREAM_DATA, STREAM_FIN, STREAM_RESET, STOP_SENDING = 0, 1, 2, 3
    STATELESS_RESET, CLOSE, APPLICATION_CLOSE = 4, 5, 6
    PREPARE_TO_SEND, ALMOST_READY, READY = 8, 9, 10


class Parameter:
    """Values of `picoquic_tp_enum`."""

    IDLE_TIMEOUT, MAX_DATA, STREAM_BIDI_LOCAL, STREAM_BIDI_REMOTE = 1, 4, 5, 6
    STREAM_UNI, STREAMS_BIDI, MAX_ACK_DELAY = 7, 8, 11


class HeaderParts(c.Structure):
    """`h3zero_header_parts_t`: the fields of a message that h3zero reads."""

    _fields_ = (
        ("method", INT), ("path", P), ("path_length", SIZE), ("authority", P), ("authority_length", SIZE),
        ("origin", P), ("origin_length", SIZE), ("range", P), ("range_length", SIZE), ("status", INT),
        ("content_type", INT), ("protocol", P), ("protocol_length", SIZE), ("wt_available", P),
        ("wt_available_length", SIZE), ("wt_protocol", P), ("wt_protocol_length", SIZE), ("huffman", c.c_uint),
        ("reserve", U8 * 64),
    )  # fmt: skip


GET, HEAD = 4, 5
"""Values of `h3zero_method_enum`."""

_FUNCTIONS = {
    "picoquic_current_time": (U64, ()),
    "picoquic_create": (P, (U32, TEXT, TEXT, TEXT, TEXT, Callback, P, P, P, P, U64, P, TEXT, P, SIZE)),
    "picoquic_free": (None, (P,)),
    "picoquic_create_client_cnx": (P, (P, P, U64, U32, TEXT, TEXT, Callback, P)),
    "picoquic_start_client_cnx": (INT, (P,)),
    "picoquic_close": (INT, (P, U64)),
    "picoquic_incoming_packet": (INT, (P, P, SIZE, P, P, INT, U8, U64)),
    "picoquic_prepare_next_packet": (INT, (P, U64, P, SIZE, P, P, P, P, P, P)),
    "picoquic_get_next_wake_delay": (I64, (P, U64, I64)),
    "picoquic_get_next_local_stream_id": (U64, (P, INT)),
    "picoquic_add_to_stream": (INT, (P, U64, TEXT, SIZE, INT)),
    "picoquic_mark_active_stream": (INT, (P, U64, INT, P)),
    "picoquic_provide_stream_data_buffer": (P, (P, SIZE, INT, INT)),
    "picoquic_reset_stream": (INT, (P, U64, U64)),
    "picoquic_unlink_app_stream_ctx": (None, (P, U64)),
    "picoquic_get_peer_addr": (None, (P, P)),
    "picoquic_tls_is_psk_handshake": (INT, (P,)),
    "picoquic_is_0rtt_available": (INT, (P,)),
    "picoquic_get_local_error": (U64, (P,)),
    "picoquic_get_remote_error": (U64, (P,)),
    "picoquic_error_name": (TEXT, (U64,)),
    "picoquic_save_session_tickets": (INT, (P, TEXT)),
    "picoquic_set_key_log_file": (None, (P, TEXT)),
    "picoquic_enable_sslkeylog": (None, (P, INT)),
    "picoquic_set_qlog": (INT, (P, TEXT)),
    "picoquic_set_log_level": (None, (P, INT)),
    "picoquic_register_all_congestion_control_algorithms": (None, ()),
    "picoquic_sort_key_exchange_algorithms": (None, (P, SIZE)),
    "picoquic_set_default_congestion_algorithm_by_name": (None, (P, TEXT)),
    "picoquic_set_default_tp_value": (INT, (P, U64, U64)),
    "picoquic_set_default_pmtud_policy": (None, (P, INT)),
    "picoquic_set_cwin_max": (None, (P, U64)),
    "picoquic_set_mtu_max": (None, (P, U32)),
    "picoquic_set_cookie_mode": (None, (P, INT)),
    "picoquic_enable_keep_alive": (None, (P, U64)),
    "h3zero_parse_qpack_header_frame": (P, (P, P, P)),
    "h3zero_release_header_parts": (None, (P,)),
}


def _load() -> c.CDLL:
    (path,) = _ROOT.glob(f"{_PACKAGE}/_binding/_transport.*.so")
    system = c.CDLL(None)
    system.dlopen.restype, system.dlopen.argtypes = P, (TEXT, INT)
    system.dlerror.restype = TEXT
    handle = system.dlopen(str(path).encode(), os.RTLD_LAZY)  # ctypes itself would bind everything now
    if not handle:
        raise OSError(system.dlerror().decode(errors="replace"))
    found = c.CDLL(str(path), handle=handle)
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(found, name)
        function.restype, function.argtypes = result, arguments
    found.picoquic_register_all_congestion_control_algorithms()
    return found


def version() -> str:
    """Return the version of the package."""
    (record,) = _ROOT.glob(f"{_PACKAGE}-*.dist-info")
    return record.name.removeprefix("aiopquic-").removesuffix(".dist-info")


def error_name(code: int) -> str:
    """Return picoquic's own name of an error, with its number."""
    name = picoquic.picoquic_error_name(code)
    return f"{(name or b'error').decode()} ({code:#x})"


picoquic = _load()
