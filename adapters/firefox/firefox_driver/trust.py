"""Make a profile's database of certificates trust one more authority, with the browser's own libnss3.

A program of its own (`trust.py PROFILE CA.pem FOLDER_OF_LIBRARIES`): the library is initialised once per
process, and has to be found together with those beside it (LD_LIBRARY_PATH).
"""

import ctypes as c
import ssl
import sys
from pathlib import Path

_VALID_CA, _TRUSTED_CA, _TRUSTED_CLIENT_CA = 1 << 3, 1 << 4, 1 << 7  # certt.h


class _Item(c.Structure):
    _fields_ = (("type", c.c_int), ("data", c.c_void_p), ("length", c.c_uint))


class _Trust(c.Structure):
    _fields_ = (("ssl", c.c_uint), ("email", c.c_uint), ("signing", c.c_uint))


def trust(profile: str, authority: str, libraries: str) -> None:
    """Add the certificate in the file `authority` (PEM); OSError names the step that failed."""
    nss = c.CDLL(str(Path(libraries) / "libnss3.so"))
    for name in ("CERT_GetDefaultCertDB", "CERT_NewTempCertificate", "PK11_GetInternalKeySlot"):
        getattr(nss, name).restype = c.c_void_p
    _expect(nss, "NSS_InitReadWrite", nss.NSS_InitReadWrite(f"sql:{profile}".encode()))
    slot = c.c_void_p(nss.PK11_GetInternalKeySlot())
    _expect(nss, "PK11_InitPin", nss.PK11_InitPin(slot, None, b""))
    der = ssl.PEM_cert_to_DER_cert(Path(authority).read_text())
    data = c.create_string_buffer(der, len(der))
    item = _Item(0, c.addressof(data), len(der))
    database = c.c_void_p(nss.CERT_GetDefaultCertDB())
    certificate = c.c_void_p(nss.CERT_NewTempCertificate(database, c.byref(item), None, 0, 1))
    _expect(nss, "CERT_NewTempCertificate", 0 if certificate else 1)
    _expect(nss, "PK11_ImportCert", nss.PK11_ImportCert(slot, certificate, c.c_ulong(0), b"longlook", 0))
    wanted = _Trust(_VALID_CA | _TRUSTED_CA | _TRUSTED_CLIENT_CA, 0, 0)
    _expect(nss, "CERT_ChangeCertTrust", nss.CERT_ChangeCertTrust(database, certificate, c.byref(wanted)))
    nss.CERT_DestroyCertificate(certificate)
    nss.PK11_FreeSlot(slot)
    _expect(nss, "NSS_Shutdown", nss.NSS_Shutdown())


def _expect(nss: c.CDLL, step: str, code: int) -> None:
    if code != 0:
        raise OSError(f"{step} failed with NSS's error {nss.PR_GetError()}")


if __name__ == "__main__":
    trust(*sys.argv[1:])
