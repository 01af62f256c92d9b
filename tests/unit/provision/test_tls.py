import base64
import hashlib
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from longlook.provision import tls


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))
    return tmp_path


def certificate(path: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(Path(path).read_bytes())


def test_identity_is_a_leaf_of_a_private_authority() -> None:
    identity = tls.identity()
    ca, leaf = certificate(identity.ca), certificate(identity.certificate)
    leaf.verify_directly_issued_by(ca)
    assert ca.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert not leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {identity.host, "*.example.test"} <= set(names.get_values_for_type(x509.DNSName))
    key = leaf.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert key.curve.name == "secp256r1"


def test_spki_is_the_hash_of_the_public_key() -> None:
    identity = tls.identity()
    key = certificate(identity.certificate).public_key()
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    assert base64.b64decode(identity.spki_sha256) == hashlib.sha256(der).digest()


def test_programs_of_another_user_read_the_key_and_its_owner_alone_changes_it() -> None:
    mode = Path(tls.identity().key).stat().st_mode
    assert (mode & 0o044, mode & 0o022) == (0o044, 0)


def test_valid_at_the_start_of_virtual_time_and_long_after_now() -> None:
    leaf = certificate(tls.identity().certificate)
    assert leaf.not_valid_before_utc.timestamp() < 1_700_000_000
    assert leaf.not_valid_after_utc.year == 2050


def test_the_same_bytes_on_every_machine() -> None:
    identity = tls.identity()
    files = [Path(path).read_bytes() for path in (identity.ca, identity.certificate, identity.key)]
    assert hashlib.sha256(b"".join(files)).hexdigest()[:16] == "cc50e3e04dd0cf1a"


def test_made_once() -> None:
    first = tls.identity()
    before = Path(first.certificate).read_bytes()
    assert tls.identity() == first
    assert Path(first.certificate).read_bytes() == before


@pytest.mark.parametrize("name", ["ca", "certificate", "key"])
@pytest.mark.parametrize("damage", ["missing", "garbage"])
def test_damaged_identity_is_written_anew(name: str, damage: str) -> None:
    first = tls.identity()
    file = Path(getattr(first, name))
    before = file.read_bytes()
    if damage == "missing":
        file.unlink()
    else:
        file.write_text("garbage")
    assert tls.identity() == first
    assert file.read_bytes() == before


def der_bytes(path: str) -> int:
    return len(certificate(path).public_bytes(serialization.Encoding.DER))


@pytest.mark.parametrize("padding_bytes", [50, 100, 200, 400, 8000])
def test_padding_makes_the_certificate_longer_and_nothing_else(padding_bytes: int) -> None:
    plain, padded = tls.identity(), tls.identity(padding_bytes)
    assert abs(der_bytes(padded.certificate) - der_bytes(plain.certificate) - padding_bytes) <= 5
    assert (padded.host, padded.spki_sha256) == (plain.host, plain.spki_sha256)
    assert Path(padded.ca).read_bytes() == Path(plain.ca).read_bytes()
    assert Path(padded.key).read_bytes() == Path(plain.key).read_bytes()
    certificate(padded.certificate).verify_directly_issued_by(certificate(plain.ca))
    assert tls.identity(padding_bytes) == padded


def test_the_interop_runners_names_make_no_certificate_longer() -> None:
    plain, other = tls.identity(), tls.identity(as_runners=True)
    names = certificate(other.certificate).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [tls.HOST, "server", "server4", "server6", "server46"]
    assert abs(der_bytes(other.certificate) - der_bytes(plain.certificate)) <= 2
    assert Path(other.ca).read_bytes() == Path(plain.ca).read_bytes()
    assert tls.identity(100, as_runners=True).certificate != tls.identity(100).certificate
