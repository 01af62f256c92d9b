"""The types of ngtcp2 and nghttp3 that are the same in all versions; `abi_0` and `abi_1` have the others."""

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

ConnRef = struct("ConnRef", ("get_conn", GetConn), ("user_data", P))

Nv = struct("Nv", ("name", c.c_char_p), ("value", c.c_char_p), ("namelen", SIZE), ("valuelen", SIZE), ("flags", U8))
RecvData = _callback(INT, P, I64, P, SIZE, P, P)
DeferredConsume = _callback(INT, P, I64, SIZE, P, P)
RecvHeader = _callback(INT, P, I64, c.c_int32, P, P, U8, P, P)
EndStream = _callback(INT, P, I64, P, P)
StopSending = _callback(INT, P, I64, U64, P, P)
ReadData = _callback(c.c_ssize_t, P, I64, c.POINTER(Vec), SIZE, c.POINTER(U32), P, P)
DataReader = struct("DataReader", ("read_data", ReadData))
