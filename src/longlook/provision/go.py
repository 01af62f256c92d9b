"""Builds adapters in Go for several versions of a library: with the right files, release of Go and patches for each.

Below an adapter's folder:
    *.go, go.mod, go.sum      the newest version's; an adapter without libraries has nothing else.
    versions/VERSION/         go.mod and go.sum of another version.
    _older/NAME-until-X.Y.go  stands in for NAME.go (or is added) up to X.Y; of several, the first that reaches it.
    _patches/VERSION/         *.patch for the library's sources of that version, *.go that stand in where these apply.

`adapters/go-toolchains.sum` has the checksum of every release of Go that may be fetched, as a go.sum would.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from longlook.core import InputError, MachineError, Program, adapters_dir, file_digest, untuned_name
from longlook.provision.build_cache import build, compile_with, is_built, toolchain_version

OWN_GO = (1, 26)
"""The release that builds what does not name an older one."""
FLAGS = ("-trimpath", "-ldflags=-w")
_HINT = "sudo apt-get install golang-go (1.26; from 1.21 on it fetches 1.26 by itself unless GOTOOLCHAIN=local)"
TOOLCHAINS = "go-toolchains.sum"
"""The file of adapters/ with the checksums of releases of Go."""

_PATCHES = "library.patches"
_TOOLCHAIN_MODULE = "golang.org/toolchain"


@dataclass(frozen=True)
class Patches:
    """Patches of a variant, as `diff -ru old new` or `git diff` writes them, in the order of their application.

    Patches of the `library` apply to its released sources, after the version's own patches. Patches of the `adapter`
    apply to the adapter's files as the version is built from them.
    """

    library: tuple[Path, ...] = ()
    adapter: tuple[Path, ...] = ()


NO_PATCHES = Patches()


@contextmanager
def assembled(
    adapter: Path, version: str, renamed: tuple[str, str] | None = None, patches: Patches = NO_PATCHES
) -> Iterator[Path]:
    """Yield a folder with exactly the files that one version, or a variant of it, is built from.

    `renamed` is (import path, its name in that version). Raise MachineError if the sources are missing, and
    InputError if a patch is missing or does not apply to the adapter.
    """
    if not adapter.is_dir():
        raise MachineError(f"there are no sources in {adapter}", "set LONGLOOK_ADAPTERS to the adapters/ of a checkout")
    with tempfile.TemporaryDirectory(prefix="longlook-go-") as temporary:
        folder = Path(temporary)
        for source, name in _files(adapter, version):
            text = source.read_text()
            if renamed and source.suffix == ".go":
                text = text.replace(f'"{renamed[0]}', f'"{renamed[1]}').replace(f" {renamed[0]}/", f" {renamed[1]}/")
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        for number, patch in enumerate(patches.library):
            (folder / _PATCHES).mkdir(exist_ok=True)
            (folder / _PATCHES / f"variant-{number:03}-{patch.name}").write_text(_text(patch))
        for patch in patches.adapter:
            _apply(_text(patch), patch, folder)
        yield folder


def _text(patch: Path) -> str:
    try:
        return patch.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the patch {patch} cannot be read: {error}", "name a file that `git diff` wrote") from error


def _apply(text: str, patch: Path, folder: Path) -> None:
    _expect_patch_program()
    done = subprocess.run(
        ("patch", "--strip=1", "--fuzz=0", "--batch", "--no-backup-if-mismatch"),
        cwd=folder, input=text, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise InputError(f"the patch {patch} does not apply: {done.stdout.strip()}", "make it of the adapter's files")


def _files(adapter: Path, version: str) -> Iterator[tuple[Path, str]]:
    files = {path.name: path for path in adapter.glob("*.go") if not path.name.endswith("_test.go")}
    modules = ("go.mod", "go.sum")  # without dependencies there are no sums
    files |= {name: adapter / name for name in modules if (adapter / name).exists()}
    library = untuned_name(version)
    files |= _older(adapter / "_older", release_of(library))
    own = adapter / "versions" / library
    if own.is_dir():
        files |= {path.name: path for path in own.iterdir()}
    if library != version:
        patches = adapter / "_patches" / library
        if not patches.is_dir():
            raise MachineError(f"{adapter.name} has no patches for {library}", f"they belong into {patches}")
        files |= {path.name: path for path in patches.glob("*.go")}
        files |= {f"{_PATCHES}/{path.name}": path for path in sorted(patches.glob("*.patch"))}
    for name, path in sorted(files.items()):
        yield path, name


def _older(folder: Path, release: tuple[int, int]) -> dict[str, Path]:
    chosen: dict[str, tuple[tuple[int, int], Path]] = {}
    for path in folder.glob("*-until-*.go"):
        name, last = path.stem.split("-until-")
        until = release_of(last)
        if release <= until and (name not in chosen or until < chosen[name][0]):
            chosen[name] = (until, path)
    return {f"{name}.go": path for name, (_, path) in chosen.items()}


def release_of(version: str) -> tuple[int, int]:
    """Return the first two numbers of a version; InputError if it does not begin with two."""
    numbers = re.match(r"(\d+)\.(\d+)", version, re.ASCII)
    if numbers is None:
        raise InputError(f"the version {version!r} does not begin with two numbers", "0.65.0 does, and 0.65.0+mine")
    return int(numbers[1]), int(numbers[2])


def toolchain(folder: Path, older: str | None) -> str:
    """Return the description of what compiles `folder`: the Go compiler, and the patches with their digests.

    The compiler is the machine's Go, or a release that go.mod makes it fetch. It is `older` if that is given, a release
    such as 1.16.15; the module proxy delivers it when it is first used, not here. Raise MachineError if the machine's
    Go is too old.
    """
    own = toolchain_version(("go", "env", "GOVERSION", "GOARCH", "GOAMD64"), _HINT, folder if older is None else None)
    release, *machine = own.split()
    number = re.match(r"go(\d+)\.(\d+)", release)
    needed = OWN_GO if older is None else (1, 21)  # the first that can fetch another
    if number is None or (int(number[1]), int(number[2])) < needed:
        raise MachineError(f"{release} cannot build it: it needs Go {needed[0]}.{needed[1]}", _HINT)
    compiler = own if older is None else " ".join((f"go{older}", *machine))
    patches = sorted((folder / _PATCHES).glob("*.patch"))
    return "; ".join((compiler, *(f"{patch.name} sha256:{file_digest(patch)}" for patch in patches)))


def environment(older: str | None) -> Mapping[str, str]:
    """Return the environment of the go command for a reproducible build from pinned modules only."""
    settings = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GO111MODULE": "on"}
    if older is not None:
        settings["GOTOOLCHAIN"] = f"go{older}"
    else:
        settings["GOFLAGS"] += " -buildvcs=false"  # unknown to the older ones
    return {**os.environ, **settings}


def compile_go(work: Path, out: Path, library: str, older: str | None) -> None:
    """Compile the assembled folder `work` into the file `out`; first apply its patches to the module `library`.

    Modules that an earlier build has unpacked are compared with their sums first: go itself compares what it downloads.
    """
    env = environment(older)
    patches = sorted((work / _PATCHES).glob("*.patch"))
    if patches:
        _expect_patch_program()
    _expect_pinned(work, older, env)
    compile_with(("go", "mod", "verify"), work, env)
    if patches:
        _patch(work, library, patches, env)
    compile_with(("go", "build", *FLAGS, "-o", str(out), "."), work, env)


def _expect_patch_program() -> None:
    if shutil.which("patch") is None:
        raise MachineError("patch is not installed", "sudo apt-get install patch")


def toolchain_sums() -> dict[str, str]:
    """Return the checksum of each release of Go that may be fetched, by the version of its module."""
    lines = (line.split() for line in (adapters_dir() / TOOLCHAINS).read_text().splitlines())
    return {version: checksum for _, version, checksum in lines}


def toolchain_module(release: str, machine: str) -> str:
    """Return the version of the module that holds a release such as `go1.16.15`; `machine` as in `linux-amd64`."""
    return f"v0.0.1-{release}.{machine}"


def _expect_pinned(work: Path, older: str | None, env: Mapping[str, str]) -> None:
    """Raise MachineError if the Go that compiles `work` is fetched, and its checksum is not the repository's."""
    used = f"go{older}" if older else toolchain_version(("go", "env", "GOVERSION"), _HINT, work, env)
    local = {**env, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"}
    own, system, processor = toolchain_version(("go", "env", "GOVERSION", "GOOS", "GOARCH"), _HINT, work, local).split()
    if used == own:
        return
    module = toolchain_module(used, f"{system}-{processor}")
    fetched = _download(f"{_TOOLCHAIN_MODULE}@{module}", work, local)["Sum"]
    pinned = toolchain_sums().get(module, "none")
    if fetched != pinned:
        raise MachineError(
            f"{used} for {system}-{processor} has the checksum {fetched}, and adapters/{TOOLCHAINS} has {pinned}",
            "where it names another, trust neither the proxy of Go's modules nor its cache: go clean -modcache",
        )


def _download(module: str, work: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Return the facts that Go prints about a module, after fetching it if its cache lacks it."""
    done = subprocess.run(
        ("go", "mod", "download", "-json", module), cwd=work, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise MachineError(f"{module} cannot be fetched: {done.stderr.strip()}", "can the Go module proxy be reached?")
    facts: dict[str, str] = json.loads(done.stdout)
    return facts


def _patch(work: Path, library: str, patches: list[Path], env: Mapping[str, str]) -> None:
    copy = work / "library"
    shutil.copytree(_download(library, work, env)["Dir"], copy)
    for folder in (copy, *(path for path in copy.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    for path in copy.rglob("*"):
        if path.is_file():
            path.chmod(0o644)
    for patch in patches:
        compile_with(("patch", "--strip=1", "--fuzz=0", f"--input={patch}"), copy, env)
    compile_with(("go", "mod", "edit", f"-replace={library}=./library"), work, env)


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
