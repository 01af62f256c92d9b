"""Container images by the interop runner's contract: `image:./server.tar` (docs/guide/images.md)."""

from pathlib import Path
from typing import NoReturn

from longlook.core import HQ, ConnectionState, FromSources, InputError, Program, SourceTree, Stack
from longlook.provision import image_client, image_server

_HINT = "write image:./FILE.tar"


def _build(tree: SourceTree) -> Program:
    from longlook.provision import image_program

    return image_program(tree)


def _is_built(tree: SourceTree) -> bool:
    from longlook.provision import is_image_unpacked

    return is_image_unpacked(tree)


def _no_sources(*_arguments: str | Path) -> NoReturn:
    raise InputError("an image is named by its file, and not built from sources", _HINT)


def _install(version: str) -> NoReturn:
    raise InputError(f"there is no image {version!r} in the cache", _HINT)


STACK = Stack(
    name="image",
    summary="container images with the interop runner's contract, named by their files",
    roles=("server", "client"),
    protocols=("h3", HQ.name),
    connections=tuple(ConnectionState),
    early_data_protocols=(HQ.name,),
    cold_protocols=("h3",),
    versions=(),
    knobs={},
    log_formats=("qlog",),
    install=_install,
    server_command=image_server,
    requests_command=image_client,
    server_reports_state=False,
    of_images=True,
    from_sources=FromSources(build=_build, is_built=_is_built, state_version=_no_sources, unpack=_no_sources),
)
