"""Builds programs in Go from sources that are no release, for an adapter in Python that drives the program.

The sources are Go's main module, so that their own go.mod, with all that it replaces, and their own go.sum count. The
result is an environment as `provision.python` makes one, with the program in the place of the package's.
"""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from longlook.core import FromSources, MachineError, Program, SourceTree, adapter_dir, content_hash, file_digest
from longlook.provision.build_cache import build_folder, is_folder_built, sources_digest
from longlook.provision.go import (
    FLAGS,
    compile_tree,
    download,
    environment,
    fetch_modules,
    state_go_version,
    toolchain,
    unpack_go,
)
from longlook.provision.python import (
    ADAPTER,
    IN_VENV,
    compile_modules,
    copy_adapter,
    make_venv,
    python_version,
    shared_digest,
)

SUMS = "sources.sum"
"""The file of an adapter with the checksum of each release's sources, as a go.sum has them."""


@dataclass(frozen=True)
class GoMain:
    """The program `name` of the Go module `module`, which is built from its folder `package` with build tags `tags`.

    The adapter finds the program in `bin` of its environment, and its version in the record of the Python package
    `distribution`, which has the releases.
    """

    name: str
    module: str
    package: str
    tags: str
    distribution: str

    @property
    def from_sources(self) -> FromSources:
        """The way from sources to the program."""
        return FromSources(
            build=self._build,
            is_built=self._is_built,
            state_version=lambda folder: state_go_version(folder, (self.module,), is_main=True),
            unpack=self._unpack,
        )

    def _build(self, tree: SourceTree) -> Program:
        folder = build_folder(
            self.name, tree.version, adapter_dir(self.name), self._toolchain(),
            lambda out, final: self._make(tree, out, final), self._recipe(tree),
        )  # fmt: skip
        parts = {
            "sources": sources_digest(folder / ADAPTER),
            "program": file_digest(folder / "bin" / self.name),
            "version": tree.reported,
            "python": python_version(),
        }
        return Program(str(folder.joinpath(*IN_VENV)), content_hash(parts, length=64))

    def _is_built(self, tree: SourceTree) -> bool:
        try:
            toolchain_used = self._toolchain()
        except MachineError:  # without Go nobody knows
            return False
        return is_folder_built(self.name, tree.version, adapter_dir(self.name), toolchain_used, self._recipe(tree))

    def _make(self, tree: SourceTree, out: Path, final: Path) -> None:
        make_venv(out)
        work = out.with_name("work")
        shutil.copytree(tree.folder, work, symlinks=True)
        flags, env = (*FLAGS, f"-tags={self.tags}"), {**environment(None), "GOTOOLCHAIN": "local"}
        # of all modules, also of those without a package for it: `go mod verify` reads them without a network
        fetch_modules(work, env, ("go", "mod", "graph"))
        compile_tree(work, out / "bin" / self.name, env, self.package, flags)
        shutil.rmtree(work)
        (site,) = out.glob("lib/python*/site-packages")
        (site / f"{self.distribution}-{tree.reported}.dist-info").mkdir()
        copy_adapter(adapter_dir(self.name), out / ADAPTER)
        compile_modules(out.joinpath(*IN_VENV), out, final)

    def _toolchain(self) -> str:
        with tempfile.TemporaryDirectory(prefix="longlook-go-") as nothing:
            return f"{toolchain(Path(nothing), None)}; {python_version()}"

    def _recipe(self, tree: SourceTree) -> str:
        return content_hash([self.module, self.package, FLAGS, self.tags, shared_digest(), tree.of, tree.digest])

    def _unpack(self, version: str, into: Path) -> None:
        module = f"{self.module}@v{version}"
        with tempfile.TemporaryDirectory(prefix="longlook-go-") as nothing:
            found = download(module, Path(nothing), environment(None))["Sum"]
            pinned = self._sums().get(version, "none")
            if found != pinned:
                raise MachineError(
                    f"{module} has the checksum {found}, and {adapter_dir(self.name) / SUMS} has {pinned}",
                    "trust neither the proxy of Go's modules nor its cache: go clean -modcache",
                )
            unpack_go(Path(nothing), module, None, into)

    def _sums(self) -> dict[str, str]:
        lines = (line.split() for line in (adapter_dir(self.name) / SUMS).read_text().splitlines())
        return {version.removeprefix("v"): checksum for _, version, checksum in lines}
