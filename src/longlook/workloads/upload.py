"""`upload`: the client sends one file or several, at once or in sequence, and may fetch one at the same time."""

from collections.abc import Mapping
from dataclasses import replace

from longlook.core import Content, InputError, Parameter, Scalar, Upload, WorkloadKind
from longlook.provision import Writer, make_content, noise
from longlook.workloads.download import MAX_OBJECTS, MAX_WAIT_S, in_groups

MAX_OBJECT_BYTES = 1 << 32
METHODS = ("POST", "PUT")
EXPECTATIONS = ("100-continue",)
"""Values of the header field `Expect` (RFC 9110, 10.1.1)."""
_DOWNLOAD = "/download.bin"


def prepare(parameters: Mapping[str, Scalar]) -> Content:
    """Return /upload.bin, and /upload-1.bin and so on if there is more than one object, as files that are sent.

    With `at_once` they are sent in groups of that size, each when the last of the group before is answered and
    `idle_s` have passed; the first `warm_s` after the handshake. With `download_bytes` a file of that size is asked
    for together with the first group. Raise InputError for a parameter out of bounds.
    """
    object_bytes, objects = int(parameters["object_bytes"]), int(parameters.get("objects", 1))
    at_once, download_bytes = int(parameters.get("at_once", 0)), int(parameters.get("download_bytes", 0))
    method, expect = str(parameters.get("method", METHODS[0])), str(parameters.get("expect", ""))
    for name, value, least, most in (
        ("object_bytes", object_bytes, 1, MAX_OBJECT_BYTES),
        ("objects", objects, 1, MAX_OBJECTS),
        ("at_once", at_once, 0, MAX_OBJECTS),
        ("download_bytes", download_bytes, 0, MAX_OBJECT_BYTES),
    ):
        if not least <= value <= most:
            raise InputError(f"workload upload: {name} = {value}", f"{least} to {most}")
    if method not in METHODS:
        raise InputError(f"workload upload: method = {method!r}", f"allowed: {', '.join(METHODS)}")
    if expect and expect not in EXPECTATIONS:
        raise InputError(
            f"workload upload: expect = {expect!r}", f"allowed: {', '.join(EXPECTATIONS)}; or leave it out"
        )
    resolved: dict[str, Scalar] = {"object_bytes": object_bytes, "objects": objects, "download_bytes": download_bytes}
    files = make_content("upload", resolved, lambda to: _write(to, objects, object_bytes, download_bytes))
    (paths,) = files.phases
    sent = tuple(path for path in paths if path != _DOWNLOAD)
    groups, waits_s = in_groups("upload", "sent", sent, parameters)
    phases = (groups[0] + ((_DOWNLOAD,) if download_bytes else ()), *groups[1:])
    uploads = {path: Upload(method, path.removeprefix("/"), expect) for path in sent}
    return replace(files, phases=phases, waits_s=waits_s, uploads=uploads)


def _write(to: Writer, objects: int, object_bytes: int, download_bytes: int) -> tuple[tuple[str, ...], ...]:
    paths = ("/upload.bin", *(f"/upload-{number}.bin" for number in range(1, objects)))
    for path in paths:
        to.add(path, noise(f"upload {path}", object_bytes))
    if not download_bytes:
        return (paths,)
    to.add(_DOWNLOAD, noise(f"download {_DOWNLOAD}", download_bytes))
    return ((*paths, _DOWNLOAD),)


def _time(help_text: str) -> Parameter:
    return Parameter("time", help_text, default=0, minimum=0, maximum=MAX_WAIT_S)


WORKLOAD = WorkloadKind(
    name="upload",
    summary="one file of object_bytes that the client sends, or several at once or in sequence, over one connection",
    parameters={
        "object_bytes": Parameter("size", "bytes of each file that is sent", minimum=1, maximum=MAX_OBJECT_BYTES),
        "objects": Parameter("count", "number of these files", default=1, minimum=1, maximum=MAX_OBJECTS),
        "at_once": Parameter(
            "count",
            "so many files are sent at once, the next when the last of these is answered; 0: all",
            default=0,
            minimum=0,
            maximum=MAX_OBJECTS,
        ),
        "method": Parameter("text", f"of the requests: {' or '.join(METHODS)}", default=METHODS[0]),
        "expect": Parameter(
            "text",
            "100-continue: the client sends the header first, and the body when the server says so or after 1 s",
            optional=True,
        ),
        "download_bytes": Parameter(
            "size",
            "bytes of one file that is fetched at the same time as the first are sent; 0: none",
            default=0,
            minimum=0,
            maximum=MAX_OBJECT_BYTES,
        ),
        "idle_s": _time("think time between such groups: the connection stays open and nothing is sent"),
        "warm_s": _time("from the completed handshake to the first request; 0: the request comes first"),
    },
    prepare=prepare,
    uploads=True,
)
