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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook.core import (
    InputError,
    MachineError,
    Program,
    SourceTree,
    adapter_dir,
    adapters_dir,
    file_digest,
    untuned_name,
)
from longlook.provision import build_steps, confined
from longlook.provision.build_cache import build, is_built, toolchain_version
from longlook.provision.sources.patches import apply_patch, read_patch

OWN_GO = (1, 26)
"""The release that builds what does not name an older one."""
FLAGS = ("-trimpath", "-ldflags=-w")
GO_HINT = "sudo apt-get install golang-go (1.26; from 1.21 on it fetches 1.26 by itself unless GOTOOLCHAIN=local)"
TOOLCHAINS = "go-toolchains.sum"
"""The file of adapters/ with the checksums of releases of Go."""

_PATCHES = "library.patches"
_BUILT = ".program"
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
    adapter: Path,
    version: str,
    renamed: tuple[str, str] | None = None,
    patches: Patches = NO_PATCHES,
    tree: SourceTree | None = None,
) -> Iterator[Path]:
    """Yield a folder with exactly the files that one version, or a variant of it, is built from.

    `renamed` is (import path, its name in that version). A library that is a `tree` is no part of the folder. Raise
    MachineError if the sources are missing, and InputError if a patch is missing or does not apply to the adapter.
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
        if tree is not None:
            shutil.rmtree(folder / _PATCHES, ignore_errors=True)  # they are for the release's sources
            _name_version(folder, tree.reported.removeprefix(untuned_name(version)))
        for number, patch in enumerate(patches.library):
            (folder / _PATCHES).mkdir(exist_ok=True)
            (folder / _PATCHES / f"variant-{number:03}-{patch.name}").write_text(read_patch(patch))
        for patch in patches.adapter:
            apply_patch(read_patch(patch), patch, folder, "make it of the adapter's files")
        yield folder


def _name_version(folder: Path, suffix: str) -> None:
    """Let the program report a version with a suffix: adapters append the constant `patchedSuffix` to the library's."""
    for file in folder.glob("*.go"):
        text = file.read_text()
        file.write_text(re.sub(r'(const patchedSuffix = ")[^"]*"', lambda found: f'{found[1]}{suffix}"', text))


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
    own = toolchain_version(("go", "env", "GOVERSION", "GOARCH", "GOAMD64"), GO_HINT, folder if older is None else None)
    release, *machine = own.split()
    number = re.match(r"go(\d+)\.(\d+)", release)
    needed = OWN_GO if older is None else (1, 21)  # the first that can fetch another
    if number is None or (int(number[1]), int(number[2])) < needed:
        raise MachineError(f"{release} cannot build it: it needs Go {needed[0]}.{needed[1]}", GO_HINT)
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


def compile_go(work: Path, out: Path, library: str, older: str | None, tree: SourceTree | None = None) -> None:
    """Compile the assembled folder `work` into the file `out`; first apply its patches to the module `library`.

    A `tree` stands in for the library. If it requires newer modules than the adapter, these are fetched, and their sums
    compared with the sums of Go's checksum database; the program itself lists them (`go version -m`).

    Modules that an earlier build has unpacked are compared with their sums first: go itself compares what it downloads.
    """
    env = environment(older)
    patches = sorted((work / _PATCHES).glob("*.patch"))
    compiler = _expect_pinned(work, older, env)
    build_steps.run(("go", "mod", "verify"), cwd=work, env=env)
    if patches:
        _patch(work, library, patches, env)
    if tree is not None:
        compile_tree(work, out, _put_in(work, library, tree, {**env, "GOTOOLCHAIN": compiler}))
        return
    build_steps.run(("go", "build", *FLAGS, "-o", str(out), "."), cwd=work, env=env)


def compile_tree(
    work: Path, out: Path, env: Mapping[str, str], package: str = ".", flags: Sequence[str] = FLAGS
) -> None:
    """Fetch what sources in `work` require, which runs no code of theirs, then compile a package without a network.

    Modules come from a proxy of modules: whatever host the sources name, nothing is asked of it. The compiler is the
    adapter's, and not one that the sources ask for.
    """
    env = {**env, "GOWORK": "off"}
    fetch_modules(work, env, ("go", "list", *flags, "-deps", package))
    offline = {**env, "GOFLAGS": env["GOFLAGS"].replace("-mod=mod", "-mod=readonly"), "GOPROXY": "off"}
    build_steps.run(("go", "mod", "verify"), cwd=work, env=offline)
    objects = Path(toolchain_version(("go", "env", "GOCACHE"), GO_HINT, work, env))
    confined.run(("go", "build", *flags, "-o", _BUILT, package), work, offline, caches=(objects,))
    shutil.move(work / _BUILT, out)


def fetch_modules(work: Path, env: Mapping[str, str], command: Sequence[str]) -> None:
    """Run a command of Go that fetches modules from the proxy alone: whatever host sources name, nothing is asked."""
    asked = ("go", "env", "GOMODCACHE", "GOCACHE", "GOPROXY")
    *caches, proxies = toolchain_version(asked, GO_HINT, work, env).split("\n")
    proxy = ",".join(each for each in re.split("[,|]", proxies) if each != "direct") or "off"
    fetching = {**env, "GOWORK": "off", "GOPROXY": proxy, "GOVCS": "public:off"}
    confined.run(command, work, fetching, caches=tuple(map(Path, caches)), network=True)


def toolchain_sums() -> dict[str, str]:
    """Return the checksum of each release of Go that may be fetched, by the version of its module."""
    lines = (line.split() for line in (adapters_dir() / TOOLCHAINS).read_text().splitlines())
    return {version: checksum for _, version, checksum in lines}


def toolchain_module(release: str, machine: str) -> str:
    """Return the version of the module that holds a release such as `go1.16.15`; `machine` as in `linux-amd64`."""
    return f"v0.0.1-{release}.{machine}"


def _expect_pinned(work: Path, older: str | None, env: Mapping[str, str]) -> str:
    """Return the Go that compiles `work`, as GOTOOLCHAIN takes it; MachineError if it is fetched, and its checksum is
    not the repository's.
    """
    used = f"go{older}" if older else toolchain_version(("go", "env", "GOVERSION"), GO_HINT, work, env)
    local = {**env, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"}
    own, system, processor = toolchain_version(
        ("go", "env", "GOVERSION", "GOOS", "GOARCH"), GO_HINT, work, local
    ).split()
    if used == own:
        return "local"
    module = toolchain_module(used, f"{system}-{processor}")
    fetched = download(f"{_TOOLCHAIN_MODULE}@{module}", work, local)["Sum"]
    pinned = toolchain_sums().get(module, "none")
    if fetched != pinned:
        raise MachineError(
            f"{used} for {system}-{processor} has the checksum {fetched}, and adapters/{TOOLCHAINS} has {pinned}",
            "where it names another, trust neither the proxy of Go's modules nor its cache: go clean -modcache",
        )
    return used


def download(module: str, work: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Return the facts that Go prints about a module, after fetching it if its cache lacks it."""
    done = subprocess.run(
        ("go", "mod", "download", "-json", module), cwd=work, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise MachineError(f"{module} cannot be fetched: {done.stderr.strip()}", "can the Go module proxy be reached?")
    facts: dict[str, str] = json.loads(done.stdout)
    return facts


def _put_in(work: Path, library: str, tree: SourceTree, env: Mapping[str, str]) -> Mapping[str, str]:
    """Let a copy of sources stand in for a module; return the environment that lets Go resolve what they require.

    Go heeds what go.mod replaces in the main module alone: so the main module gets the replacements of the sources.
    """
    shutil.copytree(tree.folder, work / "library", symlinks=True)
    for replaced in _module_file(work / "library", env).get("Replace") or ():
        old, new = (f"{each['Path']}{'@' + each['Version'] if 'Version' in each else ''}" for each in replaced.values())
        build_steps.run(("go", "mod", "edit", f"-replace={old}={new}"), cwd=work, env=env)
    build_steps.run(("go", "mod", "edit", f"-replace={library}=./library"), cwd=work, env=env)
    return {**env, "GOFLAGS": env["GOFLAGS"].replace("-mod=readonly", "-mod=mod")}


def state_go_version(folder: Path, libraries: Sequence[str], *, is_main: bool = False) -> str:
    """Return "", since a module does not state its version; InputError if Go cannot build sources, or if these are
    another module than one of `libraries`.

    If the sources are not Go's main module when they are built, InputError for what Go heeds in that alone. If they
    are, they may replace a module by one of their own folders.
    """
    if not (folder / "go.mod").is_file():
        raise InputError(f"the sources have no go.mod, and are none of {libraries[0]}", "name the folder that has it")
    facts = _module_file(folder, environment(None))
    if (module := facts["Module"]["Path"]) not in libraries:
        raise InputError(f"the sources are those of {module}", f"name a folder with {libraries[0]}")
    if (folder / "vendor" / "modules.txt").is_file() and not is_main:
        raise InputError(
            "the sources have a folder vendor, which Go heeds in the main module alone",
            "remove it, so that modules come from go.mod and go.sum",
        )
    for replaced in facts.get("Replace") or ():
        if "Version" not in replaced["New"] and not (is_main and _is_inside(replaced["New"]["Path"])):
            raise InputError(
                f"go.mod replaces {replaced['Old']['Path']} by the folder {replaced['New']['Path']}",
                "replace it by a version, or put the change into the sources",
            )
    if (folder / "go.work").is_file():
        used = [each["DiskPath"] for each in _work_file(folder).get("Use") or ()]
        if any(Path(path) != Path() for path in used):
            raise InputError(
                f"go.work uses the modules {', '.join(used)}, which Go heeds in the main module alone",
                "replace them by versions in go.mod, or remove go.work",
            )
    return ""


def _is_inside(path: str) -> bool:
    inside = os.path.normpath(path)
    return not inside.startswith(("..", "/"))


def _module_file(folder: Path, env: Mapping[str, str]) -> dict[str, Any]:
    return _edited(("go", "mod", "edit", "-json"), folder, env)


def _work_file(folder: Path) -> dict[str, Any]:
    return _edited(("go", "work", "edit", "-json", "go.work"), folder, environment(None))


def _edited(command: Sequence[str], folder: Path, env: Mapping[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        command, cwd=folder, env={**env, "GOTOOLCHAIN": "local"}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise InputError(f"Go cannot read the sources: {done.stderr.strip()}", "does go build succeed there?")
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def unpack_go(work: Path, module: str, older: str | None, into: Path) -> None:
    """Put the sources of a module, `PATH@VERSION`, into a new folder; `work` is a folder with a go.mod."""
    shutil.copytree(download(module, work, environment(older))["Dir"], into)
    _make_writable(into)


def _make_writable(folder: Path) -> None:
    """Undo that Go's cache of modules is read-only."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _patch(work: Path, library: str, patches: list[Path], env: Mapping[str, str]) -> None:
    copy = work / "library"
    shutil.copytree(download(library, work, env)["Dir"], copy)
    _make_writable(copy)
    _apply_all(patches, copy)
    build_steps.run(("go", "mod", "edit", f"-replace={library}=./library"), cwd=work, env=env)


def _apply_all(patches: Iterable[Path], folder: Path) -> None:
    for patch in patches:
        apply_patch(patch.read_text(), patch, folder, "make it of the released sources, with the version's own patches")


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
    tree: SourceTree | None = None

    def build(self) -> Program:
        """Build it, or take it from the cache."""
        with self._assembled() as sources:
            return build(
                self.name, self._built_as, sources, lambda: toolchain(sources, self.older),
                lambda work, out: compile_go(work, out, self.library, self.older, self.tree), self._recipe,
            )  # fmt: skip

    @property
    def is_built(self) -> bool:
        """Return whether `build` has nothing to do; False on a machine without Go, whose version is unknown."""
        try:
            with self._assembled() as sources:
                return is_built(
                    self.name, self._built_as, sources, lambda: toolchain(sources, self.older), self._recipe
                )
        except MachineError:
            return False

    def unpack(self, into: Path) -> None:
        """Put the sources of the library into a new folder, with the version's own patches."""
        with self._assembled() as work:
            unpack_go(work, self.library, self.older, into)
            _apply_all(sorted((work / _PATCHES).glob("*.patch")), into)

    @property
    def knob_patches(self) -> tuple[Path, ...]:
        """The patches that make the tunable build of the library's sources; none if the version has no such build."""
        folder = adapter_dir(self.name) / "_patches" / untuned_name(self.version)
        return tuple(sorted(folder.glob("*.patch")))

    @property
    def _built_as(self) -> str:
        return self.version if self.tree is None else self.tree.version

    @property
    def _recipe(self) -> str:
        return str(FLAGS) if self.tree is None else f"{FLAGS} {self.tree.digest}"

    def _assembled(self) -> AbstractContextManager[Path]:
        return assembled(adapter_dir(self.name), self.version, self.renamed, self.patches, self.tree)
