"""Writes a file in C that compiles only if the headers lay out structures as `abi` and `abi_1` declare them.

`longlook setup` compiles it with the headers of the ngtcp2 and nghttp3 that it builds: a tree of ngtcp2 whose
structures are others is refused when it is built, instead of being misread when it runs.
"""

import ctypes as c
import sys
from pathlib import Path

from ngtcp2_adapter import abi, abi_1

_NAMES: dict[str, type[c.Structure]] = {
    "ngtcp2_settings": abi_1.Settings,
    "ngtcp2_transport_params": abi_1.Parameters,
    "ngtcp2_callbacks": abi_1.Callbacks,
    "ngtcp2_cid": abi.Cid,
    "ngtcp2_vec": abi.Vec,
    "ngtcp2_pkt_info": abi.PktInfo,
    "ngtcp2_path": abi.Path,
    "ngtcp2_pkt_hd": abi.PktHd,
    "ngtcp2_version_cid": abi.VersionCid,
    "ngtcp2_ccerr": abi.CloseError,
    "ngtcp2_crypto_conn_ref": abi.ConnRef,
    "nghttp3_settings": abi_1.HttpSettings,
    "nghttp3_callbacks": abi_1.HttpCallbacks,
    "nghttp3_nv": abi.Nv,
    "nghttp3_data_reader": abi.DataReader,
}
"""The structures by their names in C."""

_HEADERS = ("stddef.h", "ngtcp2/ngtcp2.h", "ngtcp2/ngtcp2_crypto.h", "nghttp3/nghttp3.h")
_ONLY_HERE = ("padding",)  # room for a field that grows


def assertions() -> str:
    """Return the file: an assertion on the place of each field."""
    lines = [f"#include <{header}>" for header in _HEADERS]
    for name, structure in _NAMES.items():
        for field, *_ in structure._fields_:
            if field not in _ONLY_HERE:
                place = getattr(structure, field).offset
                lines.append(f'_Static_assert(offsetof({name}, {field}) == {place}, "{name}.{field}");')
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(assertions())
