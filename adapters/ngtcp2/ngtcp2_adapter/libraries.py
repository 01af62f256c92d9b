"""The libraries beside this adapter, with the types of the functions that are called."""

import ctypes as c
from pathlib import Path

from ngtcp2_adapter.abi import I64, INT, SIZE, U8, U32, U64, P, Vec, struct

_FOLDER = Path(__file__).resolve().parents[2] / "lib"
"""Made by `longlook setup ngtcp2`: what packages/ names, numbered in its order."""

_loaded = {file.name.split("-", 1)[1]: c.CDLL(str(file)) for file in sorted(_FOLDER.iterdir())}

quic = _loaded["libngtcp2.so.9"]
crypto = _loaded["libngtcp2_crypto_gnutls.so.2"]
http = _loaded["libnghttp3.so.3"]
tls = _loaded["libgnutls.so.30"]
libc = c.CDLL(None, use_errno=True)

_SSIZE = c.c_ssize_t


def _declare(library: c.CDLL, name: str, result: type | None, *arguments: type) -> None:
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments


for _name in ("client", "server"):
    _declare(quic, f"ngtcp2_conn_{_name}_new_versioned", INT, P, P, P, P, U32, INT, P, INT, P, INT, P, P, P)
    _declare(http, f"nghttp3_conn_{_name}_new_versioned", INT, P, INT, P, INT, P, P, P)
    _declare(crypto, f"ngtcp2_crypto_gnutls_configure_{_name}_session", INT, P)

_declare(quic, "ngtcp2_settings_default_versioned", None, INT, P)
_declare(quic, "ngtcp2_transport_params_default_versioned", None, INT, P)
_declare(quic, "ngtcp2_conn_del", None, P)
_declare(quic, "ngtcp2_conn_read_pkt_versioned", INT, P, P, INT, P, P, SIZE, U64)
_declare(quic, "ngtcp2_conn_writev_stream_versioned", _SSIZE, P, P, INT, P, P, SIZE, P, U32, I64, P, SIZE, U64)
_declare(quic, "ngtcp2_conn_write_connection_close_versioned", _SSIZE, P, P, INT, P, P, SIZE, P, U64)
_declare(quic, "ngtcp2_conn_get_expiry", U64, P)
_declare(quic, "ngtcp2_conn_handle_expiry", INT, P, U64)
_declare(quic, "ngtcp2_conn_update_pkt_tx_time", None, P, U64)
_declare(quic, "ngtcp2_conn_get_send_quantum", SIZE, P)
_declare(quic, "ngtcp2_conn_get_max_data_left", U64, P)
_declare(quic, "ngtcp2_conn_get_streams_bidi_left", U64, P)
_declare(quic, "ngtcp2_conn_open_bidi_stream", INT, P, P, P)
_declare(quic, "ngtcp2_conn_open_uni_stream", INT, P, P, P)
_declare(quic, "ngtcp2_conn_extend_max_stream_offset", INT, P, I64, U64)
_declare(quic, "ngtcp2_conn_extend_max_offset", None, P, U64)
_declare(quic, "ngtcp2_conn_extend_max_streams_bidi", None, P, SIZE)
_declare(quic, "ngtcp2_conn_shutdown_stream_read", INT, P, I64, U64)
_declare(quic, "ngtcp2_conn_shutdown_stream_write", INT, P, I64, U64)
_declare(quic, "ngtcp2_conn_set_tls_native_handle", None, P, P)
_declare(quic, "ngtcp2_conn_get_remote_transport_params", P, P)
_declare(quic, "ngtcp2_conn_set_early_remote_transport_params_versioned", None, P, INT, P)
_declare(quic, "ngtcp2_conn_get_connection_close_error", None, P, P)
_declare(quic, "ngtcp2_conn_get_tls_alert", U8, P)
_declare(quic, "ngtcp2_connection_close_error_default", None, P)
_declare(quic, "ngtcp2_connection_close_error_set_application_error", None, P, U64, P, SIZE)
_declare(quic, "ngtcp2_connection_close_error_set_transport_error_liberr", None, P, INT, P, SIZE)
_declare(quic, "ngtcp2_connection_close_error_set_transport_error_tls_alert", None, P, U8, P, SIZE)
_declare(quic, "ngtcp2_conn_get_early_data_rejected", INT, P)
_declare(quic, "ngtcp2_pkt_decode_version_cid", INT, P, P, SIZE, SIZE)
_declare(quic, "ngtcp2_accept", INT, P, P, SIZE)
_declare(quic, "ngtcp2_strerror", c.c_char_p, INT)
_Info = struct("_Info", ("age", INT), ("version_num", INT), ("version_str", c.c_char_p))
_declare(quic, "ngtcp2_version", c.POINTER(_Info), INT)

_declare(http, "nghttp3_settings_default_versioned", None, INT, P)
_declare(http, "nghttp3_conn_del", None, P)
_declare(http, "nghttp3_conn_bind_control_stream", INT, P, I64)
_declare(http, "nghttp3_conn_bind_qpack_streams", INT, P, I64, I64)
_declare(http, "nghttp3_conn_read_stream", _SSIZE, P, I64, P, SIZE, INT)
_declare(http, "nghttp3_conn_writev_stream", _SSIZE, P, P, P, P, SIZE)
_declare(http, "nghttp3_conn_add_write_offset", INT, P, I64, SIZE)
_declare(http, "nghttp3_conn_add_ack_offset", INT, P, I64, U64)
_declare(http, "nghttp3_conn_block_stream", None, P, I64)
_declare(http, "nghttp3_conn_unblock_stream", INT, P, I64)
_declare(http, "nghttp3_conn_close_stream", INT, P, I64, U64)
_declare(http, "nghttp3_conn_shutdown_stream_write", None, P, I64)
_declare(http, "nghttp3_conn_shutdown_stream_read", INT, P, I64)
_declare(http, "nghttp3_conn_submit_request", INT, P, I64, P, SIZE, P, P)
_declare(http, "nghttp3_conn_submit_response", INT, P, I64, P, SIZE, P)
_declare(http, "nghttp3_conn_set_max_client_streams_bidi", None, P, U64)
_declare(http, "nghttp3_rcbuf_get_buf", Vec, P)
_declare(http, "nghttp3_err_infer_quic_app_error_code", U64, INT)

_declare(tls, "gnutls_strerror", c.c_char_p, INT)
_declare(tls, "gnutls_init", INT, P, U32)
_declare(tls, "gnutls_deinit", None, P)
_declare(tls, "gnutls_priority_set_direct", INT, P, c.c_char_p, P)
_declare(tls, "gnutls_session_set_ptr", None, P, P)
_declare(tls, "gnutls_credentials_set", INT, P, INT, P)
_declare(tls, "gnutls_alpn_set_protocols", INT, P, P, U32, U32)
_declare(tls, "gnutls_server_name_set", INT, P, INT, c.c_char_p, SIZE)
_declare(tls, "gnutls_session_set_verify_cert", None, P, c.c_char_p, U32)
_declare(tls, "gnutls_session_get_verify_cert_status", U32, P)
_declare(tls, "gnutls_certificate_verification_status_print", INT, U32, INT, P, U32)
_declare(tls, "gnutls_certificate_allocate_credentials", INT, P)
_declare(tls, "gnutls_certificate_set_x509_trust_file", INT, P, c.c_char_p, INT)
_declare(tls, "gnutls_certificate_set_x509_key_file", INT, P, c.c_char_p, c.c_char_p, INT)
_declare(tls, "gnutls_session_ticket_key_generate", INT, P)
_declare(tls, "gnutls_session_ticket_enable_server", INT, P, P)
_declare(tls, "gnutls_session_ticket_send", INT, P, U32, U32)
_declare(tls, "gnutls_handshake_set_hook_function", None, P, U32, INT, P)
_declare(tls, "gnutls_session_get_data2", INT, P, P)
_declare(tls, "gnutls_session_set_data", INT, P, P, SIZE)
_declare(tls, "gnutls_session_is_resumed", INT, P)
_declare(tls, "gnutls_session_get_flags", U32, P)
_declare(tls, "gnutls_record_set_max_early_data_size", INT, P, SIZE)
_declare(tls, "gnutls_anti_replay_init", INT, P)
_declare(tls, "gnutls_anti_replay_set_add_function", None, P, P)
_declare(tls, "gnutls_anti_replay_enable", None, P, P)

_declare(libc, "mmap", P, P, SIZE, INT, INT, INT, I64)
_declare(libc, "munmap", INT, P, SIZE)


def version() -> str:
    """Return the version that ngtcp2 reports."""
    return str(quic.ngtcp2_version(0).contents.version_str.decode())
