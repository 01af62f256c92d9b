"""The laboratory's TLS identity: a private authority and one ECDSA certificate, the same bytes on every machine.

The length of a certificate shows in every handshake, so a trial could not be the same elsewhere if it were random. It
can be made longer by padding, with the same key and the same authority. The
keys are therefore derived from a constant, and anybody can know them: no system trusts this authority, only programs
under test are configured to, and they listen inside the laboratory.
"""

import base64
import hashlib
import ipaddress
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from longlook.core import Identity, cache_dir
from longlook.provision.build_cache import filled
from longlook.provision.images.stack import NAMES

HOST = "www.example.test"
"""The name of every server; `.test` is reserved (RFC 2606)."""

VALID_FROM = datetime(2020, 1, 1, tzinfo=UTC)
"""Long ago, because a guest's virtual clock starts in the past."""

VALID_UNTIL = datetime(2050, 1, 1, tzinfo=UTC)
_NAMES = (HOST, "*.example.test", "example.test")
_RUNNERS_NAMES = (HOST, *NAMES)
"""With the names of the interop runner's server a certificate is as long as with the others."""
_PADDING = x509.ObjectIdentifier("1.3.6.1.4.1.32473.1")
"""Below the number that is reserved for examples (RFC 5612): no program knows it, so all ignore it."""
_PADDING_FRAME_BYTES = 17  # of an extension, without its value
_CA, _CERTIFICATE, _KEY = "ca.pem", "certificate.pem", "key.pem"
_MODE = 0o644  # of the key too: anybody can know it
_P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def identity(padding_bytes: int = 0, *, as_runners: bool = False) -> Identity:
    """Return the identity; write its files again if they are missing or damaged.

    Padding makes the certificate longer by that many bytes (and up to 5 more or less: a signature has no fixed length).
    `as_runners`: it is for the names of the interop runner's server too, in place of others.
    """
    files = _make(padding_bytes, as_runners=as_runners)
    name = "-".join(["tls", *([str(padding_bytes)] if padding_bytes else []), *(["runner"] if as_runners else [])])
    folder = filled(cache_dir() / name, lambda folder: _holds(folder, files), lambda folder: _write(folder, files))
    public = x509.load_pem_x509_certificate(files[_CERTIFICATE]).public_key()
    spki = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return Identity(
        host=HOST,
        ca=str(folder / _CA),
        certificate=str(folder / _CERTIFICATE),
        key=str(folder / _KEY),
        spki_sha256=base64.b64encode(hashlib.sha256(spki).digest()).decode(),
    )


def _holds(folder: Path, files: dict[str, bytes]) -> bool:
    try:
        return all(_is_readable(folder / name) and (folder / name).read_bytes() == data for name, data in files.items())
    except OSError:
        return False


def _write(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).write_bytes(data)
        (folder / name).chmod(_MODE)


def _is_readable(path: Path) -> bool:
    """Return whether any user may read a file: servers under test run as one without privilege."""
    return path.stat().st_mode & _MODE == _MODE


def _make(padding_bytes: int, *, as_runners: bool) -> dict[str, bytes]:
    """Return the bytes of the files by name."""
    ca_key = _derived_key("authority")
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Longlook laboratory CA")])
    ca_usage = _key_usage(digital_signature=False, key_cert_sign=True)
    ca = (
        _builder(ca_name, ca_name, ca_key.public_key(), 1)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(ca_usage, critical=True)
        .sign(ca_key, hashes.SHA256(), ecdsa_deterministic=True)
    )
    leaf_key = _derived_key("server")
    leaf_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in (_RUNNERS_NAMES if as_runners else _NAMES)]
    if not as_runners:
        names.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    unsigned = (
        _builder(leaf_name, ca_name, leaf_key.public_key(), 2)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(digital_signature=True, key_cert_sign=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
    )
    if padding_bytes:
        unsigned = unsigned.add_extension(_padding(padding_bytes), critical=False)
    leaf = unsigned.sign(ca_key, hashes.SHA256(), ecdsa_deterministic=True)
    private = leaf_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return {
        _CA: ca.public_bytes(serialization.Encoding.PEM),
        _CERTIFICATE: leaf.public_bytes(serialization.Encoding.PEM),
        _KEY: private,
    }


def _padding(padding_bytes: int) -> x509.UnrecognizedExtension:
    """Return an extension of about the given bytes, which no compression of certificates shortens."""
    return x509.UnrecognizedExtension(
        _PADDING, hashlib.shake_256(b"longlook laboratory, padding").digest(padding_bytes - _PADDING_FRAME_BYTES)
    )


def _derived_key(role: str) -> ec.EllipticCurvePrivateKey:
    number = int.from_bytes(hashlib.sha256(f"longlook laboratory, {role}".encode()).digest(), "big")
    return ec.derive_private_key(number % (_P256_ORDER - 1) + 1, ec.SECP256R1())


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, serial: int
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(serial)
        .not_valid_before(VALID_FROM)
        .not_valid_after(VALID_UNTIL)
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
