"""The types of libngtcp2.so.9 and libnghttp3.so.3 as their headers lay them out."""

import ctypes as c
from typing import Any


def struct(name: str, *fields: tuple[str, type]) -> type[c.Structure]:
    """A structure type."""
    return type(name, (c.Structure,), {"_fields_": list(fields)})


def _callback(result: type | None, *arguments: type) -> Any:
    return c.CFUNCTYPE(result, *arguments)


P, U8, U32, U64, I64, SIZE, INT = c.c_void_p, c.c_uint8, c.c_uint32, c.c_uint64, c.c_int64, c.c_size_t, c.c_int

Cid = struct("Cid", ("datalen", SIZE), ("data", U8 * 20))
Vec = struct("Vec", ("base", P), ("len", SIZE))
PktInfo = struct("PktInfo", ("ecn", U32), ("padding", U32))
Addr = struct("Addr", ("addr", P), ("addrlen", U32))
Path = struct("Path", ("local", Addr), ("remote", Addr), ("user_data", P))
PktHd = struct(
    "PktHd",
    *(("dcid", Cid), ("scid", Cid), ("pkt_num", I64), ("token", Vec), ("pkt_numlen", SIZE), ("len", SIZE)),
    *(("version", U32), ("type", U8), ("flags", U8)),
)
VersionCid = struct("VersionCid", ("version", U32), ("dcid", P), ("dcidlen", SIZE), ("scid", P), ("scidlen", SIZE))
CloseError = struct(
    "CloseError", ("type", INT), ("error_code", U64), ("frame_type", U64), ("reason", P), ("reasonlen", SIZE)
)

QlogWrite = _callback(None, P, U32, P, SIZE)
_Qlog = struct("_Qlog", ("odcid", Cid), ("write", QlogWrite))
Settings = struct(
    "Settings",
    *(("qlog", _Qlog), ("cc_algo", INT), ("initial_ts", U64), ("initial_rtt", U64), ("log_printf", P)),
    *(("max_tx_udp_payload_size", SIZE), ("token", Vec), ("rand_ctx", P), ("max_window", U64)),
    *(("max_stream_window", U64), ("ack_thresh", SIZE), ("no_tx_udp_payload_size_shaping", INT)),
    *(("handshake_timeout", U64), ("preferred_versions", P), ("preferred_versionslen", SIZE)),
    *(("other_versions", P), ("other_versionslen", SIZE), ("original_version", U32), ("no_pmtud", INT)),
)

_PreferredAddr = struct(
    "_PreferredAddr",
    *(("cid", Cid), ("ipv4", U32 * 4), ("ipv6", U32 * 7), ("ipv4_present", U8), ("ipv6_present", U8)),
    ("stateless_reset_token", U8 * 16),
)
_VersionInfo = struct("_VersionInfo", ("chosen_version", U32), ("other_versions", P), ("other_versionslen", SIZE))
Parameters = struct(
    "Parameters",
    *(("preferred_address", _PreferredAddr), ("original_dcid", Cid), ("initial_scid", Cid), ("retry_scid", Cid)),
    *(("initial_max_stream_data_bidi_local", U64), ("initial_max_stream_data_bidi_remote", U64)),
    *(("initial_max_stream_data_uni", U64), ("initial_max_data", U64), ("initial_max_streams_bidi", U64)),
    *(("initial_max_streams_uni", U64), ("max_idle_timeout", U64), ("max_udp_payload_size", U64)),
    *(("active_connection_id_limit", U64), ("ack_delay_exponent", U64), ("max_ack_delay", U64)),
    *(("max_datagram_frame_size", U64), ("stateless_reset_token_present", U8), ("disable_active_migration", U8)),
    *(("retry_scid_present", U8), ("preferred_address_present", U8), ("stateless_reset_token", U8 * 16)),
    *(("grease_quic_bit", U8), ("version_info", _VersionInfo), ("version_info_present", U8)),
)

Rand = _callback(None, P, SIZE, P)
HandshakeCompleted = _callback(INT, P, P)
RecvStreamData = _callback(INT, P, U32, I64, U64, P, SIZE, P, P)
AckedStreamDataOffset = _callback(INT, P, I64, U64, U64, P, P)
StreamClose = _callback(INT, P, U32, I64, U64, P, P)
GetNewConnectionId = _callback(INT, P, c.POINTER(Cid), P, SIZE, P)
RemoveConnectionId = _callback(INT, P, c.POINTER(Cid), P)
StreamReset = _callback(INT, P, I64, U64, U64, P, P)
ExtendMaxStreams = _callback(INT, P, U64, P)
ExtendMaxStreamData = _callback(INT, P, I64, U64, P, P)
StreamStopSending = _callback(INT, P, I64, U64, P, P)
RecvKey = _callback(INT, P, INT, P)
EarlyDataRejected = _callback(INT, P, P)
GetConn = _callback(P, P)

Callbacks = struct(
    "Callbacks",
    *(("client_initial", P), ("recv_client_initial", P), ("recv_crypto_data", P)),
    *(("handshake_completed", HandshakeCompleted), ("recv_version_negotiation", P), ("encrypt", P), ("decrypt", P)),
    *(("hp_mask", P), ("recv_stream_data", RecvStreamData), ("acked_stream_data_offset", AckedStreamDataOffset)),
    *(("stream_open", P), ("stream_close", StreamClose), ("recv_stateless_reset", P), ("recv_retry", P)),
    *(("extend_max_local_streams_bidi", ExtendMaxStreams), ("extend_max_local_streams_uni", P), ("rand", Rand)),
    *(("get_new_connection_id", GetNewConnectionId), ("remove_connection_id", RemoveConnectionId)),
    *(("update_key", P), ("path_validation", P), ("select_preferred_addr", P), ("stream_reset", StreamReset)),
    *(("extend_max_remote_streams_bidi", P), ("extend_max_remote_streams_uni", P)),
    *(("extend_max_stream_data", ExtendMaxStreamData), ("dcid_status", P), ("handshake_confirmed", P)),
    *(("recv_new_token", P), ("delete_crypto_aead_ctx", P), ("delete_crypto_cipher_ctx", P), ("recv_datagram", P)),
    *(("ack_datagram", P), ("lost_datagram", P), ("get_path_challenge_data", P)),
    *(("stream_stop_sending", StreamStopSending), ("version_negotiation", P), ("recv_rx_key", RecvKey)),
    *(("recv_tx_key", RecvKey), ("early_data_rejected", EarlyDataRejected)),
)
ConnRef = struct("ConnRef", ("get_conn", GetConn), ("user_data", P))

Nv = struct("Nv", ("name", c.c_char_p), ("value", c.c_char_p), ("namelen", SIZE), ("valuelen", SIZE), ("flags", U8))
HttpSettings = struct(
    "HttpSettings",
    *(("max_field_section_size", U64), ("qpack_max_dtable_capacity", SIZE)),
    *(("qpack_encoder_max_dtable_capacity", SIZE), ("qpack_blocked_streams", SIZE), ("enable_connect_protocol", INT)),
)
RecvData = _callback(INT, P, I64, P, SIZE, P, P)
DeferredConsume = _callback(INT, P, I64, SIZE, P, P)
RecvHeader = _callback(INT, P, I64, c.c_int32, P, P, U8, P, P)
EndStream = _callback(INT, P, I64, P, P)
StopSending = _callback(INT, P, I64, U64, P, P)
HttpCallbacks = struct(
    "HttpCallbacks",
    *(("acked_stream_data", P), ("stream_close", P), ("recv_data", RecvData), ("deferred_consume", DeferredConsume)),
    *(("begin_headers", P), ("recv_header", RecvHeader), ("end_headers", P), ("begin_trailers", P)),
    *(("recv_trailer", P), ("end_trailers", P), ("stop_sending", StopSending), ("end_stream", EndStream)),
    *(("reset_stream", StopSending), ("shutdown", P)),
)
ReadData = _callback(c.c_ssize_t, P, I64, c.POINTER(Vec), SIZE, c.POINTER(U32), P, P)
DataReader = struct("DataReader", ("read_data", ReadData))
