"""The laboratory's TLS identity: a private authority and one ECDSA certificate, made once and kept in the cache."""

import base64
import hashlib
import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from longlook.cachefolder import filled
from longlook.job import Identity
from longlook.paths import cache_dir

HOST = "www.example.test"
"""The name every server is reached by; `.test` is reserved (RFC 2606)."""

VALID_FROM = datetime(2020, 1, 1, tzinfo=UTC)
"""Long ago, because a guest's virtual clock starts in the past."""

LIFETIME = timedelta(days=90)
RENEW_BEFORE = timedelta(days=7)
_NAMES = (HOST, "*.example.test", "example.test")
_CA, _CERTIFICATE, _KEY = "ca.pem", "certificate.pem", "key.pem"


def identity() -> Identity:
    """The identity, made anew when it is missing, damaged, or expires within RENEW_BEFORE."""
    folder = filled(cache_dir() / "tls", _is_usable, _make)
    public = x509.load_pem_x509_certificate((folder / _CERTIFICATE).read_bytes()).public_key()
    spki = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return Identity(
        host=HOST,
        ca=str(folder / _CA),
        certificate=str(folder / _CERTIFICATE),
        key=str(folder / _KEY),
        spki_sha256=base64.b64encode(hashlib.sha256(spki).digest()).decode(),
    )


def _is_usable(folder: Path) -> bool:
    try:
        ca = x509.load_pem_x509_certificate((folder / _CA).read_bytes())
        leaf = x509.load_pem_x509_certificate((folder / _CERTIFICATE).read_bytes())
        key = serialization.load_pem_private_key((folder / _KEY).read_bytes(), None)
        leaf.verify_directly_issued_by(ca)
    except (OSError, ValueError, TypeError, InvalidSignature):
        return False
    now = datetime.now(UTC)
    in_time = all(
        each.not_valid_before_utc <= now and now + RENEW_BEFORE < each.not_valid_after_utc for each in (ca, leaf)
    )
    return in_time and key.public_key() == leaf.public_key()


def _make(folder: Path) -> None:
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Longlook laboratory CA")])
    ca_usage = _key_usage(digital_signature=False, key_cert_sign=True)
    ca = (
        _builder(ca_name, ca_name, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(ca_usage, critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    leaf_key = ec.generate_private_key(ec.SECP256R1())
    leaf_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in _NAMES]
    names.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    leaf = (
        _builder(leaf_name, ca_name, leaf_key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(digital_signature=True, key_cert_sign=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    (folder / _CA).write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    (folder / _CERTIFICATE).write_bytes(leaf.public_bytes(serialization.Encoding.PEM))
    private = leaf_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / _KEY).touch(mode=0o600)
    (folder / _KEY).write_bytes(private)


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(VALID_FROM)
        .not_valid_after(datetime.now(UTC) + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _key_usage(*, digital_signature: bool, key_cert_sign: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=key_cert_sign,
        encipher_only=False,
        decipher_only=False,
    )
