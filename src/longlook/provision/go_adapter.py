"""Adapters in Go as programs of stacks: built once, and then taken from the cache."""

from dataclasses import dataclass

from longlook.core.errors import MachineError
from longlook.core.job import Program
from longlook.core.paths import adapters_dir
from longlook.provision.build_cache import build, is_built
from longlook.provision.go import FLAGS, NO_PATCHES, Patches, assembled, compile_go, toolchain


@dataclass(frozen=True)
class GoAdapter:
    """One version of the adapter in `adapters/NAME`, built against a library.

    `older` is the release of Go that it needs, None for the machine's; `renamed` and `patches` are `assembled`'s.
    """

    name: str
    version: str
    library: str
    older: str | None = None
    renamed: tuple[str, str] | None = None
    patches: Patches = NO_PATCHES

    def build(self) -> Program:
        """Build it, or take it from the cache."""
        with assembled(adapters_dir() / self.name, self.version, self.renamed, self.patches) as sources:
            return build(
                self.name, self.version, sources, toolchain(sources, self.older),
                lambda work, out: compile_go(work, out, self.library, self.older), str(FLAGS),
            )  # fmt: skip

    @property
    def is_built(self) -> bool:
        """Return whether `build` has nothing to do; False on a machine without Go, whose version is unknown."""
        try:
            with assembled(adapters_dir() / self.name, self.version, self.renamed, self.patches) as sources:
                return is_built(self.name, self.version, sources, toolchain(sources, self.older), str(FLAGS))
        except MachineError:
            return False
