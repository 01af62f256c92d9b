"""ngtcp2 0.12.1 (libngtcp2.so.9) and nghttp3 0.8 (libnghttp3.so.3) as their headers lay them out."""

import ctypes as c
from collections.abc import Mapping
from typing import Any, ClassVar

from ngtcp2_adapter.abi import (
    I64,
    INT,
    SIZE,
    U8,
    U32,
    U64,
    AckedStreamDataOffset,
    Cid,
    DeferredConsume,
    EarlyDataRejected,
    EndStream,
    ExtendMaxStreamData,
    ExtendMaxStreams,
    GetNewConnectionId,
    HandshakeCompleted,
    P,
    QlogWrite,
    Rand,
    RecvData,
    RecvHeader,
    RecvKey,
    RecvStreamData,
    RemoveConnectionId,
    StopSending,
    StreamClose,
    StreamReset,
    StreamStopSending,
    Vec,
    struct,
)
from ngtcp2_adapter.interface import Codes, Interface, declare

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
HttpSettings = struct(
    "HttpSettings",
    *(("max_field_section_size", U64), ("qpack_max_dtable_capacity", SIZE)),
    *(("qpack_encoder_max_dtable_capacity", SIZE), ("qpack_blocked_streams", SIZE), ("enable_connect_protocol", INT)),
)
HttpCallbacks = struct(
    "HttpCallbacks",
    *(("acked_stream_data", P), ("stream_close", P), ("recv_data", RecvData), ("deferred_consume", DeferredConsume)),
    *(("begin_headers", P), ("recv_header", RecvHeader), ("end_headers", P), ("begin_trailers", P)),
    *(("recv_trailer", P), ("end_trailers", P), ("stop_sending", StopSending), ("end_stream", EndStream)),
    *(("reset_stream", StopSending), ("shutdown", P)),
)


class Before1(Interface):
    """The interface of 0.12.1."""

    Settings = Settings
    Parameters = Parameters
    Callbacks = Callbacks
    HttpSettings = HttpSettings
    HttpCallbacks = HttpCallbacks
    codes = Codes(-210, -220, -222, -240, -215, -231, -114)
    algorithms: ClassVar[Mapping[str, int]] = {"reno": 0, "cubic": 1, "bbr": 2, "bbr2": 3}
    early_data_rejected = "early_data_rejected"
    _closing = (
        "ngtcp2_connection_close_error_set_application_error",
        "ngtcp2_connection_close_error_set_transport_error_liberr",
        "ngtcp2_connection_close_error_set_transport_error_tls_alert",
    )

    def __init__(self, quic: c.CDLL) -> None:
        super().__init__(quic)
        for side in ("read", "write"):
            declare(quic, f"ngtcp2_conn_shutdown_stream_{side}", INT, P, I64, U64)
        declare(quic, "ngtcp2_conn_get_early_data_rejected", INT, P)
        declare(quic, "ngtcp2_conn_get_remote_transport_params", P, P)
        declare(quic, "ngtcp2_conn_set_early_remote_transport_params_versioned", None, P, INT, P)

    def name_origin(self, settings: Any, parameters: Any, dcid: Any, *, server: bool) -> None:
        """Traces name it too."""
        settings.qlog.odcid = dcid
        if server:
            parameters.original_dcid = dcid

    def set_trace(self, settings: Any, write: Any) -> None:
        """The settings have a structure for it."""
        settings.qlog.write = write

    def shut(self, conn: Any, side: str, stream: int, code: int) -> int:
        """There are no flags."""
        return int(getattr(self._quic, f"ngtcp2_conn_shutdown_stream_{side}")(conn, stream, code))

    def refused_early_data(self, conn: Any) -> bool:
        """The function's name does not name TLS."""
        return bool(self._quic.ngtcp2_conn_get_early_data_rejected(conn))

    def remember(self, conn: Any) -> Any:
        """A copy of the structure."""
        remote = self._quic.ngtcp2_conn_get_remote_transport_params(conn)
        parameters: Any = Parameters.from_buffer_copy(c.string_at(remote, c.sizeof(Parameters)))
        parameters.version_info_present = 0  # it points to memory of this connection
        parameters.version_info.other_versions, parameters.version_info.other_versionslen = None, 0
        return parameters

    def recall(self, conn: Any, parameters: Any) -> None:
        """The structure is given back."""
        self._quic.ngtcp2_conn_set_early_remote_transport_params_versioned(conn, 1, c.byref(parameters))
