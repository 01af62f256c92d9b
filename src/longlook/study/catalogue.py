"""The stacks, workloads and metrics that a study may name, and a version of a stack as a command names it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from longlook.core import InputError, Metric, Stack, WorkloadKind, registry
from longlook.provision import is_image, parse_program

_PROTOCOL = re.compile(r"[A-Za-z0-9-]+")


@dataclass(frozen=True)
class Catalogue:
    """Plug-ins by name."""

    stacks: Mapping[str, Stack]
    workloads: Mapping[str, WorkloadKind]
    metrics: Mapping[str, Metric]


def installed() -> Catalogue:
    """Return all plug-ins of this installation."""
    return Catalogue(registry.load("stacks"), registry.load("workloads"), registry.load("metrics"))


@dataclass(frozen=True)
class ComparedSide:
    """One side of a comparison: a version of a stack and the protocol that it speaks."""

    stack: str
    version: str
    protocol: str

    @property
    def name(self) -> str:
        """Return `quic-go@0.65.0`."""
        return f"{self.stack}@{self.version}"


def parse_side(text: str, protocol: str) -> ComparedSide:
    """Return one side of a comparison from text such as `quic-go`, `quic-go@0.65.0`, `quic-go@./tree` or `quic-go:h2`.

    `protocol` is the default, for a text without a protocol. Sources are copied into the cache. Raises InputError if
    the stack or the version is unknown.
    """
    program, colon, own = (text, "", "") if is_image(text) else text.rpartition(":")
    if colon and not own:
        raise InputError(f"{text}: no protocol behind the colon", f"write for example {program}:h2")
    if not colon or not _PROTOCOL.fullmatch(own):  # a colon of sources: git:PATH#REV
        program, own = text, ""
    stack, version = parse_program(program)
    return ComparedSide(stack.name, version, own or protocol)
