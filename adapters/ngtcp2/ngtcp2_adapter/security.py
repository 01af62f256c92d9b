"""TLS sessions of GnuTLS, as QUIC needs them. GnuTLS honours SSLKEYLOGFILE by itself."""

import ctypes as c
from collections.abc import Callable
from typing import Any

from longlook_adapter.errors import AdapterError

from ngtcp2_adapter.abi import INT, U32, P, Vec, struct
from ngtcp2_adapter.libraries import crypto, tls

_SERVER, _CLIENT = 1, 2
_EARLY_DATA, _MANUAL_TICKETS, _NO_END_OF_EARLY_DATA = 1 << 20, 1 << 21, 1 << 22
_SFLAG_EARLY_DATA = 1 << 10
_PEM, _CERTIFICATE, _DNS, _ALPN_MANDATORY = 1, 1, 1, 1
_NEW_SESSION_TICKET, _AFTER = 4, 1
_PRIORITY = (
    b"NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-CCM:"
    b"-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:+GROUP-SECP521R1:%DISABLE_TLS13_COMPAT_MODE"
)
"""As ngtcp2's own client and server have it; QUIC forbids TLS 1.3's middlebox compatibility mode."""

_Datum = struct("_Datum", ("data", P), ("size", U32))
_Hook = c.CFUNCTYPE(INT, P, U32, U32, U32, P)
_AddFunction = c.CFUNCTYPE(INT, P, c.c_long, P, P)


def _check(code: int, what: str) -> None:
    if code < 0:
        raise AdapterError(f"{what}: {tls.gnutls_strerror(code).decode()}")


class Credentials:
    """The part of TLS that all sessions of a process share."""

    def __init__(self) -> None:
        self.handle = P()
        _check(tls.gnutls_certificate_allocate_credentials(c.byref(self.handle)), "GnuTLS")

    def trust(self, ca: str) -> None:
        """Accept certificates that the authorities in this file have signed, and no others."""
        _check(tls.gnutls_certificate_set_x509_trust_file(self.handle, ca.encode(), _PEM), ca)

    def identify(self, certificate: str, key: str) -> None:
        """Use this certificate and its key as a server, and issue session tickets."""
        code = tls.gnutls_certificate_set_x509_key_file(self.handle, certificate.encode(), key.encode(), _PEM)
        _check(code, f"{certificate}, {key}")
        self.ticket_key = _Datum()
        _check(tls.gnutls_session_ticket_key_generate(c.byref(self.ticket_key)), "GnuTLS")
        self.anti_replay = P()
        _check(tls.gnutls_anti_replay_init(c.byref(self.anti_replay)), "GnuTLS")
        self._never_seen = _AddFunction(lambda _ptr, _expires, _key, _data: 0)  # nobody attacks in a test network
        tls.gnutls_anti_replay_set_add_function(self.anti_replay, self._never_seen)


class Session:
    """One TLS session; `reference` leads ngtcp2's crypto helpers back to the connection."""

    def __init__(self, credentials: Credentials, reference: Any, flags: int) -> None:
        self.handle = P()
        self._credentials, self._reference = credentials, reference
        _check(tls.gnutls_init(c.byref(self.handle), flags | _NO_END_OF_EARLY_DATA), "GnuTLS")
        _check(tls.gnutls_priority_set_direct(self.handle, _PRIORITY, None), "GnuTLS")
        tls.gnutls_session_set_ptr(self.handle, c.byref(reference))
        _check(tls.gnutls_credentials_set(self.handle, _CERTIFICATE, credentials.handle), "GnuTLS")
        name = c.create_string_buffer(b"h3", 2)
        protocols = Vec(c.addressof(name), 2)  # as a datum: pointer and size
        _check(tls.gnutls_alpn_set_protocols(self.handle, c.byref(protocols), 1, _ALPN_MANDATORY), "GnuTLS")

    @property
    def resumed(self) -> bool:
        """Return whether the session was resumed from a ticket."""
        return bool(tls.gnutls_session_is_resumed(self.handle))

    @property
    def early(self) -> bool:
        """Return whether this server accepted early data."""
        return bool(tls.gnutls_session_get_flags(self.handle) & _SFLAG_EARLY_DATA)

    def close(self) -> None:
        """Free the session."""
        tls.gnutls_deinit(self.handle)


class ServerSession(Session):
    """A server's session."""

    def __init__(self, credentials: Credentials, reference: Any) -> None:
        super().__init__(credentials, reference, _SERVER | _EARLY_DATA | _MANUAL_TICKETS)
        crypto.ngtcp2_crypto_gnutls_configure_server_session(self.handle)
        tls.gnutls_session_ticket_enable_server(self.handle, c.byref(credentials.ticket_key))
        tls.gnutls_anti_replay_enable(self.handle, credentials.anti_replay)
        tls.gnutls_record_set_max_early_data_size(self.handle, 0xFFFFFFFF)

    def send_ticket(self) -> None:
        """Send the client one session ticket."""
        _check(tls.gnutls_session_ticket_send(self.handle, 1, 0), "GnuTLS")


class ClientSession(Session):
    """A client's session, which resumes from `ticket` and hands new ones to `keep`."""

    def __init__(
        self,
        credentials: Credentials,
        reference: Any,
        host: str,
        ticket: bytes | None,
        keep: Callable[[bytes], None],
        *,
        early: bool,
    ) -> None:
        super().__init__(credentials, reference, _CLIENT | (_EARLY_DATA if early else 0))
        crypto.ngtcp2_crypto_gnutls_configure_client_session(self.handle)
        self._keep = keep
        self._hook = _Hook(self._ticket_arrived)
        tls.gnutls_handshake_set_hook_function(self.handle, _NEW_SESSION_TICKET, _AFTER, self._hook)
        self._host = host.encode()
        _check(tls.gnutls_server_name_set(self.handle, _DNS, self._host, len(self._host)), "GnuTLS")
        tls.gnutls_session_set_verify_cert(self.handle, self._host, 0)
        if ticket is not None:
            _check(tls.gnutls_session_set_data(self.handle, ticket, len(ticket)), "session ticket")

    def certificate_error(self) -> str | None:
        """Return what is wrong with the server's certificate; None where it did not end the handshake."""
        status = tls.gnutls_session_get_verify_cert_status(self.handle)
        if status in (0, 0xFFFFFFFF):
            return None
        text = _Datum()
        if tls.gnutls_certificate_verification_status_print(status, _CERTIFICATE, c.byref(text), 0) < 0:
            return f"the certificate was refused ({status:#x})"
        return c.string_at(text.data, text.size).decode(errors="replace").strip()

    def _ticket_arrived(self, _session: int, _kind: int, _when: int, _incoming: int, _message: int) -> int:
        data = _Datum()
        if tls.gnutls_session_get_data2(self.handle, c.byref(data)) == 0:
            self._keep(c.string_at(data.data, data.size))
        return 0
