"""The program of an image by its configuration (OCI image-spec 1.1, config). Pure."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from longlook.core import InputError
from longlook.provision.images import bounds
from longlook.provision.images.refusal import refusal

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
USUAL_ENTRY_POINT = "/run_endpoint.sh"
"""The entry point by the interop runner's contract; a folder without a configuration has it."""


@dataclass(frozen=True)
class ImageConfig:
    """How an image's program is started: its arguments, its variables and the folder in which it begins.

    `diff_ids` are the digests of its layers, unpacked, the lowest first.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    folder: str
    diff_ids: tuple[str, ...]
    created: str  # ISO date, "" if it is not stated
    volumes: tuple[str, ...] = ()


def machine_architecture() -> str:
    """Return the name that images have for the processor of this machine."""
    return _ARCHITECTURES.get(platform.machine(), platform.machine())


def parse_config(data: Mapping[str, Any], image: str, stated_architecture: str = "") -> ImageConfig:
    """Return the configuration of an image; InputError if its program is for other machines, or there is none."""
    mine = machine_architecture()
    architecture = str(data.get("architecture") or stated_architecture or mine)
    system = data.get("os", "linux")
    if architecture != mine or system != "linux":
        raise InputError(
            f"the image {image} is for {system} on {architecture}, and this machine is linux on {mine}",
            f"save it for this machine: docker pull --platform linux/{mine} IMAGE",
        )
    config = data.get("config") or {}
    rootfs = data.get("rootfs") or {}
    if not isinstance(config, dict) or not isinstance(rootfs, dict):
        raise refusal(image, "is damaged: its configuration is none", "damaged")
    argv = (*_texts(config.get("Entrypoint")), *_texts(config.get("Cmd")))
    if not argv:
        raise InputError(f"the image {image} has no entry point", f'add one to it: ENTRYPOINT ["{USUAL_ENTRY_POINT}"]')
    pairs = (text.partition("=") for text in _texts(config.get("Env")))
    env = {name: value for name, _, value in pairs if name and "\0" not in name + value}
    diff_ids = _texts(rootfs.get("diff_ids"))
    if len(diff_ids) > bounds.MOST_LAYERS:
        raise refusal(image, f"has more than {bounds.MOST_LAYERS} layers", "large")
    volumes = config.get("Volumes")
    return ImageConfig(
        argv=argv,
        env=env,
        folder=str(config.get("WorkingDir") or "/"),
        diff_ids=diff_ids,
        created=str(data.get("created") or "")[:10],
        volumes=tuple(map(str, volumes)) if isinstance(volumes, dict) else (),
    )


def _texts(value: Any) -> tuple[str, ...]:
    return (
        tuple(each for each in value if isinstance(each, str) and "\0" not in each) if isinstance(value, list) else ()
    )
