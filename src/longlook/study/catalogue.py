"""The stacks, workloads and metrics that a study may name, and a version of a stack as a command names it."""

from collections.abc import Mapping
from dataclasses import dataclass

from longlook.core import InputError, Metric, Stack, WorkloadKind, registry


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
    """Return one side of a comparison from text such as `quic-go`, `quic-go@0.65.0` or `quic-go:h2`.

    `protocol` is the default, for a text without a protocol. Raises InputError if the stack or the version is unknown.
    """
    name, colon, own = text.partition(":")
    stack_name, _, version = name.partition("@")
    stack = registry.stack(stack_name)
    if colon and not own:
        raise InputError(f"{text}: no protocol behind the colon", f"write for example {name}:h2")
    chosen = stack.version(version).name if version else stack.default_version
    return ComparedSide(stack.name, chosen, own or protocol)
