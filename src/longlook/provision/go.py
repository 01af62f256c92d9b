"""Builds adapters in Go for several versions of a library: with the right files, release of Go and patches for each.

Below an adapter's folder:
    *.go, go.mod, go.sum      the newest version's; an adapter without libraries has nothing else
    versions/VERSION/         go.mod and go.sum of another version
    _older/NAME-until-X.Y.go  stands in for NAME.go (or is added) up to X.Y; of several, the first that reaches it
    _patches/VERSION/         *.patch for the library's sources of that version, *.go that stand in where these apply
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from longlook.core.digests import file_digest
from longlook.core.errors import MachineError
from longlook.provision.build_cache import compile_with, toolchain_version

OWN_GO = (1, 26)
"""The release that builds what does not name an older one."""
FLAGS = ("-trimpath", "-ldflags=-s -w")
PATCHED = "+knobs"
"""Ends the name of a version whose library is patched."""
_HINT = "sudo apt-get install golang-go (1.26; from 1.21 on it fetches 1.26 by itself unless GOTOOLCHAIN=local)"
_PATCHES = "library.patches"


@contextmanager
def assembled(adapter: Path, version: str, renamed: tuple[str, str] | None = None) -> Iterator[Path]:
    """Yield a folder with exactly the files that one version is built from.

    `renamed` is (import path, its name in that version). Raise MachineError where the sources are missing.
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
        yield folder


def _files(adapter: Path, version: str) -> Iterator[tuple[Path, str]]:
    files = {path.name: path for path in adapter.glob("*.go") if not path.name.endswith("_test.go")}
    modules = ("go.mod", "go.sum")  # without dependencies there are no sums
    files |= {name: adapter / name for name in modules if (adapter / name).exists()}
    library = version.removesuffix(PATCHED)
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
    """Return the first two numbers of a version."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def toolchain(folder: Path, older: str | None) -> str:
    """Return the description of what compiles `folder`: the Go compiler, and the patches with their digests.

    The compiler is the machine's Go (or the one that go.mod makes it fetch), or `older`, a release such as 1.16.15,
    which is fetched through the module proxy when it is first used, not here. Raise MachineError where the machine's Go
    is too old.
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
    """Compile the assembled folder `work` into the file `out`; first apply its patches to the module `library`."""
    env = environment(older)
    patches = sorted((work / _PATCHES).glob("*.patch"))
    if patches:
        _patch(work, library, patches, env)
    compile_with(("go", "build", *FLAGS, "-o", str(out), "."), work, env)


def _patch(work: Path, library: str, patches: list[Path], env: Mapping[str, str]) -> None:
    if shutil.which("patch") is None:
        raise MachineError("patch is not installed", "sudo apt-get install patch")
    download = subprocess.run(
        ("go", "mod", "download", "-json", library), cwd=work, env=env, capture_output=True, text=True, check=False
    )
    if download.returncode != 0:
        reason = download.stderr.strip()
        raise MachineError(f"{library} cannot be fetched: {reason}", "can the Go module proxy be reached?")
    copy = work / "library"
    shutil.copytree(json.loads(download.stdout)["Dir"], copy)
    for folder in (copy, *(path for path in copy.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    for path in copy.rglob("*"):
        if path.is_file():
            path.chmod(0o644)
    for patch in patches:
        compile_with(("patch", "--strip=1", "--fuzz=0", f"--input={patch}"), copy, env)
    compile_with(("go", "mod", "edit", f"-replace={library}=./library"), work, env)
