"""The libraries beside this adapter, with the types of the functions that are called."""

import ctypes as c
from pathlib import Path

from ngtcp2_adapter.abi import I64, INT, SIZE, U8, U32, U64, P, Vec, struct
from ngtcp2_adapter.abi_0 import Before1
from ngtcp2_adapter.abi_1 import Since1
from ngtcp2_adapter.interface import Interface, declare

_FOLDER = Path(__file__).resolve().parents[2] / "lib"
"""Made by `longlook setup ngtcp2`: libraries, numbered in the order in which they are loaded."""

_NAMED = _FOLDER.with_name("version.txt")
_FIRST = 0x010000  # the number of 1.0.0

_loaded = {file.name.split("-", 1)[1]: c.CDLL(str(file)) for file in sorted(_FOLDER.iterdir())}


def _library(name: str) -> c.CDLL:
    """Return a library by its name without its version."""
    (found,) = (library for soname, library in _loaded.items() if soname.partition(".so")[0] == name)
    return found


quic, crypto = _library("libngtcp2"), _library("libngtcp2_crypto_gnutls")
http, tls = _library("libnghttp3"), _library("libgnutls")
libc = c.CDLL(None, use_errno=True)

_SSIZE = c.c_ssize_t

_Info = struct("_Info", ("age", INT), ("version_num", INT), ("version_str", c.c_char_p))
declare(quic, "ngtcp2_version", c.POINTER(_Info), INT)


def version() -> str:
    """Return the version that ngtcp2 reports, or the name that was given to sources that are no release."""
    if _NAMED.is_file():
        return _NAMED.read_text()
    return str(quic.ngtcp2_version(0).contents.version_str.decode())


interface: Interface = Before1(quic) if quic.ngtcp2_version(0).contents.version_num < _FIRST else Since1(quic)

for _name in ("client", "server"):
    declare(quic, f"ngtcp2_conn_{_name}_new_versioned", INT, P, P, P, P, U32, INT, P, INT, P, INT, P, P, P)
    declare(http, f"nghttp3_conn_{_name}_new_versioned", INT, P, INT, P, INT, P, P, P)
    declare(crypto, f"ngtcp2_crypto_gnutls_configure_{_name}_session", INT, P)

declare(quic, "ngtcp2_settings_default_versioned", None, INT, P)
declare(quic, "ngtcp2_transport_params_default_versioned", None, INT, P)
declare(quic, "ngtcp2_conn_del", None, P)
declare(quic, "ngtcp2_conn_read_pkt_versioned", INT, P, P, INT, P, P, SIZE, U64)
declare(quic, "ngtcp2_conn_writev_stream_versioned", _SSIZE, P, P, INT, P, P, SIZE, P, U32, I64, P, SIZE, U64)
declare(quic, "ngtcp2_conn_write_connection_close_versioned", _SSIZE, P, P, INT, P, P, SIZE, P, U64)
declare(quic, "ngtcp2_conn_get_expiry", U64, P)
declare(quic, "ngtcp2_conn_handle_expiry", INT, P, U64)
declare(quic, "ngtcp2_conn_update_pkt_tx_time", None, P, U64)
declare(quic, "ngtcp2_conn_get_send_quantum", SIZE, P)
declare(quic, "ngtcp2_conn_get_max_data_left", U64, P)
declare(quic, "ngtcp2_conn_get_streams_bidi_left", U64, P)
declare(quic, "ngtcp2_conn_open_bidi_stream", INT, P, P, P)
declare(quic, "ngtcp2_conn_open_uni_stream", INT, P, P, P)
declare(quic, "ngtcp2_conn_extend_max_stream_offset", INT, P, I64, U64)
declare(quic, "ngtcp2_conn_extend_max_offset", None, P, U64)
declare(quic, "ngtcp2_conn_extend_max_streams_bidi", None, P, SIZE)
declare(quic, "ngtcp2_conn_set_tls_native_handle", None, P, P)
declare(quic, "ngtcp2_conn_get_tls_alert", U8, P)
declare(quic, "ngtcp2_pkt_decode_version_cid", INT, P, P, SIZE, SIZE)
declare(quic, "ngtcp2_accept", INT, P, P, SIZE)
declare(quic, "ngtcp2_strerror", c.c_char_p, INT)

declare(http, "nghttp3_settings_default_versioned", None, INT, P)
declare(http, "nghttp3_conn_del", None, P)
declare(http, "nghttp3_conn_bind_control_stream", INT, P, I64)
declare(http, "nghttp3_conn_bind_qpack_streams", INT, P, I64, I64)
declare(http, "nghttp3_conn_read_stream", _SSIZE, P, I64, P, SIZE, INT)
declare(http, "nghttp3_conn_writev_stream", _SSIZE, P, P, P, P, SIZE)
declare(http, "nghttp3_conn_add_write_offset", INT, P, I64, SIZE)
declare(http, "nghttp3_conn_add_ack_offset", INT, P, I64, U64)
declare(http, "nghttp3_conn_block_stream", None, P, I64)
declare(http, "nghttp3_conn_unblock_stream", INT, P, I64)
declare(http, "nghttp3_conn_close_stream", INT, P, I64, U64)
declare(http, "nghttp3_conn_shutdown_stream_write", None, P, I64)
declare(http, "nghttp3_conn_shutdown_stream_read", INT, P, I64)
declare(http, "nghttp3_conn_submit_request", INT, P, I64, P, SIZE, P, P)
declare(http, "nghttp3_conn_submit_response", INT, P, I64, P, SIZE, P)
declare(http, "nghttp3_conn_set_max_client_streams_bidi", None, P, U64)
declare(http, "nghttp3_rcbuf_get_buf", Vec, P)
declare(http, "nghttp3_err_infer_quic_app_error_code", U64, INT)

declare(tls, "gnutls_strerror", c.c_char_p, INT)
declare(tls, "gnutls_init", INT, P, U32)
declare(tls, "gnutls_deinit", None, P)
declare(tls, "gnutls_priority_set_direct", INT, P, c.c_char_p, P)
declare(tls, "gnutls_session_set_ptr", None, P, P)
declare(tls, "gnutls_credentials_set", INT, P, INT, P)
declare(tls, "gnutls_alpn_set_protocols", INT, P, P, U32, U32)
declare(tls, "gnutls_server_name_set", INT, P, INT, c.c_char_p, SIZE)
declare(tls, "gnutls_session_set_verify_cert", None, P, c.c_char_p, U32)
declare(tls, "gnutls_session_get_verify_cert_status", U32, P)
declare(tls, "gnutls_certificate_verification_status_print", INT, U32, INT, P, U32)
declare(tls, "gnutls_certificate_allocate_credentials", INT, P)
declare(tls, "gnutls_certificate_set_x509_trust_file", INT, P, c.c_char_p, INT)
declare(tls, "gnutls_certificate_set_x509_key_file", INT, P, c.c_char_p, c.c_char_p, INT)
declare(tls, "gnutls_session_ticket_key_generate", INT, P)
declare(tls, "gnutls_session_ticket_enable_server", INT, P, P)
declare(tls, "gnutls_session_ticket_send", INT, P, U32, U32)
declare(tls, "gnutls_handshake_set_hook_function", None, P, U32, INT, P)
declare(tls, "gnutls_session_get_data2", INT, P, P)
declare(tls, "gnutls_session_set_data", INT, P, P, SIZE)
declare(tls, "gnutls_session_is_resumed", INT, P)
declare(tls, "gnutls_session_get_flags", U32, P)
declare(tls, "gnutls_record_set_max_early_data_size", INT, P, SIZE)
declare(tls, "gnutls_anti_replay_init", INT, P)
declare(tls, "gnutls_anti_replay_set_add_function", None, P, P)
declare(tls, "gnutls_anti_replay_enable", None, P, P)

declare(libc, "mmap", P, P, SIZE, INT, INT, INT, I64)
declare(libc, "munmap", INT, P, SIZE)
