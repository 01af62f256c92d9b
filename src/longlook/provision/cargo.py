"""Compiles one Rust program with cargo in a fixed environment; its dependencies are compiled once and kept.

Cargo compares an archive with its digest when it downloads the archive, and later takes the unpacked crate as it is.
`verify` therefore compares unpacked crates with the lock file.
"""

import gzip
import hashlib
import json
import os
import shutil
import tarfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from longlook.core import MachineError, SourceTree, adapter_dir, adapters_dir, cache_dir, content_hash
from longlook.provision import build_steps, confined, libclang
from longlook.provision.build_cache import locked, toolchain_version
from longlook.provision.crate_sources import LIBRARY, RUST_HINT, resolve_lock, stand_in
from longlook.provision.sources.snapshot import read_copy, write_files

_UNPACKED = ".cargo-ok"
"""A file of cargo's own in each unpacked crate."""
_DAMAGE = (OSError, EOFError, tarfile.TarError, gzip.BadGzipFile)


def verify(lock: Path, cargo_home: Path) -> None:
    """Raise MachineError for a crate of a lock file that is unpacked and differs from the archive with its digest.

    Cargo itself downloads or unpacks a crate that is not unpacked yet.
    """
    for package in tomllib.loads(lock.read_text()).get("package", ()):
        if (digest := package.get("checksum")) is None:
            continue
        name = f"{package['name']}-{package['version']}"
        for unpacked in sorted((cargo_home / "registry" / "src").glob(f"*/{name}")):
            archive = cargo_home / "registry" / "cache" / unpacked.parent.name / f"{name}.crate"
            if (wrong := _wrong(archive, digest, unpacked)) is not None:
                raise MachineError(
                    f"the crate {name}, from which a stack would be built, is not that of {lock.name}: {wrong}",
                    f"rm -rf {unpacked} {archive}, and cargo fetches it anew",
                )


def _wrong(archive: Path, digest: str, unpacked: Path) -> str | None:
    """Return the difference, or None if nothing differs."""
    if not archive.is_file():
        return f"{archive} is missing, so that nothing vouches for {unpacked}"
    if hashlib.sha256(archive.read_bytes()).hexdigest() != digest:
        return f"{archive} has another digest"
    try:
        packed = dict(_packed(archive))
        found = {str(path.relative_to(unpacked)): path for path in unpacked.rglob("*") if not path.is_dir()}
        for name in sorted((packed.keys() | found.keys()) - {_UNPACKED}):
            path = found.get(name)
            if path is None or name not in packed or path.is_symlink() or path.read_bytes() != packed[name]:
                return f"{unpacked / name} is not as it was packed"
    except _DAMAGE as error:
        return f"{unpacked} cannot be compared with its archive: {error}"
    return None


def _packed(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an archive by their path below its one folder."""
    with tarfile.open(archive, "r:gz") as members:
        for member in members:
            if member.isfile() and (file := members.extractfile(member)) is not None:
                yield member.name.partition("/")[2], file.read()


COMMAND = ("cargo", "build", "--release", "--locked", "-j2")

SHARED = Path("lib", "rust")
"""The crate that all adapters depend on, relative to adapters/."""

_WORK, _TARGET, _OF_TREE = "tree", "target", "of-tree"
_BINARY = Path("release", "adapter")
_LAYOUT = "manifest above all sources"
_KEY_FILE = "dependencies"
LOCK_CHANGES = "Cargo.lock.changes"
_ORIGIN = ".cargo_vcs_info.json"
_OF_ARCHIVES = frozenset((_ORIGIN, "Cargo.toml.orig", "Cargo.lock"))
"""Files that crates have in archives alone."""
_FRAMES_IN_C = "-fno-omit-frame-pointer"
_FRAMES_IN_RUST = "-Cforce-frame-pointers=yes"
_FIXED = {"LC_ALL": "C", "CARGO_INCREMENTAL": "0"}
_PASSED = frozenset(
    (
        *("PATH", "HOME", "TMPDIR", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "RUSTUP_AUTO_INSTALL"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy", "https_proxy", "no_proxy"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
    )
)
"""The user's variables that say where tools, servers and folders are; the versions of compilers are part of the key."""

_PASSED_PREFIXES = ("CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTRIES_")
_C_HINT = "sudo apt-get install gcc g++"


def toolchain(name: str, version: str) -> str:
    """Return the versions of what compiles a version of adapters/`name`: rustc, cargo, cc and, if needed, libclang.

    Raises MachineError when a compiler is missing. rustup may choose another Rust for the folder of an adapter.
    """
    folder = adapter_dir(name) / "src"
    lock = adapter_dir(name) / "versions" / version / "Cargo.lock"
    rust = [toolchain_version((tool, "--version", "--verbose"), RUST_HINT, folder) for tool in ("rustc", "cargo")]
    c_compiler = toolchain_version(("cc", "--version"), _C_HINT, folder).partition("\n")[0]
    return "\n".join((*rust, c_compiler, *((libclang.NAME,) if libclang.is_needed(lock.read_text()) else ())))


def settings() -> str:
    """Return the digest of everything in this module that decides how a program is compiled."""
    return content_hash([_flags(), _LAYOUT])


def environment(folder: Path) -> dict[str, str]:
    """Return the whole environment of a build in `folder`.

    The user's variables that could change the program (RUSTFLAGS, CC, CFLAGS, CARGO_PROFILE_…, …) do not pass. Paths of
    this machine are replaced by fixed names, so that the same sources give the same program on any machine.
    """
    passed = {name: value for name, value in os.environ.items() if name in _PASSED or name.startswith(_PASSED_PREFIXES)}
    flags = _compiler_flags(str(folder), str(cargo_home()))
    return {**passed, **_FIXED, **flags, "CARGO_TARGET_DIR": str(folder / _TARGET)}


def compile_program(name: str, version: str, out: Path, tree: SourceTree | None = None) -> None:
    """Compile adapters/`name` with the manifest and lock file in its versions/`version` into the file `out`.

    The cache keeps one folder per version with the compiled dependencies. It is used again as long as the manifests,
    the lock file, the compilers and the settings are the same. After any change of them, and after a build that was
    killed, everything is compiled from scratch. The adapter and the shared crate are always compiled. Builds of the
    same version wait for each other.

    A `tree` stands in for the crates of its workspace. Nobody vouches for what its build scripts and its macros leave:
    each tree is compiled in a copy of the release's folder, and the copy is removed afterwards. So crates of the
    registry are not compiled again. The lock file that it was compiled with is put beside `out`, with a list of changes
    if the tree required any.
    """
    folder = cache_dir() / "cargo" / f"{name}-{version}"
    with locked(folder):
        key = _dependencies_key(name, version)
        if tree is None or not _has_dependencies(folder, key):
            _compile_release(name, version, folder, key)
        if tree is None:
            shutil.copyfile(folder / _TARGET / _BINARY, out)
        else:
            _compile_tree(name, version, folder, tree, out)


def _has_dependencies(folder: Path, key: str) -> bool:
    """Return whether a folder has compiled dependencies that are whole and of this key."""
    key_file = folder / _KEY_FILE
    return key_file.is_file() and key_file.read_text() == key


def _compile_release(name: str, version: str, folder: Path, key: str) -> None:
    if not _has_dependencies(folder, key):
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    work, key_file = folder / _WORK, folder / _KEY_FILE
    _copy_sources(name, version, work)
    verify(work / "Cargo.lock", cargo_home())
    key_file.unlink(missing_ok=True)
    try:
        build_steps.run(COMMAND, cwd=work, env=_with_libclang(work, environment(folder)))
    except MachineError:
        key_file.write_text(key)  # cargo ended by itself: what it has compiled until then is whole
        raise
    key_file.write_text(key)


def _compile_tree(name: str, version: str, folder: Path, tree: SourceTree, out: Path) -> None:
    own = folder / _OF_TREE
    work, target = own / _WORK, own / _TARGET
    shutil.rmtree(own, ignore_errors=True)  # of a build that was killed
    try:
        _copy_sources(name, version, work)
        _put_in(work, tree, folder, out)
        confined.run(_fetch(name, version), work, environment(folder), caches=(cargo_home(),), network=True)
        verify(work / "Cargo.lock", cargo_home())
        shutil.copytree(folder / _TARGET, target, symlinks=True)  # with the times, which cargo compares
        env = {**_with_libclang(work, _offline(environment(folder))), "CARGO_TARGET_DIR": str(target)}
        confined.run((*COMMAND, "--offline"), target, env, cwd=work)
        shutil.copyfile(confined.inside(target / _BINARY, target), out)
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _with_libclang(work: Path, env: Mapping[str, str]) -> Mapping[str, str]:
    """Return the environment of a build in `work`, where libclang is found if a crate of its lock file needs that."""
    if not libclang.is_needed((work / "Cargo.lock").read_text()):
        return env
    return {**env, **libclang.environment()}


def _fetch(name: str, version: str) -> tuple[str, ...]:
    """Return the command that fetches the crates of a lock file for this machine, and runs nothing of them."""
    machine = next(line.split()[1] for line in toolchain(name, version).splitlines() if line.startswith("host: "))
    return ("cargo", "fetch", "--locked", "--target", machine)


def _offline(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a build without the user's settings of registries, such as their keys."""
    return {name: value for name, value in env.items() if not name.startswith(_PASSED_PREFIXES)}


def _put_in(work: Path, tree: SourceTree, folder: Path, out: Path) -> None:
    """Let a tree stand in for crates of a program in `work`, and record the lock file beside `out`."""
    manifest, lock = work / "Cargo.toml", work / "Cargo.lock"
    write_files(read_copy(tree.folder), work / LIBRARY)
    sources = stand_in(tree.folder, lock.read_text())
    manifest.write_text(sources.manifest(manifest.read_text(), tree.reported))
    changes = resolve_lock(work, sources, environment(folder))
    shutil.copyfile(lock, out.with_name(lock.name))
    if changes:
        out.with_name(LOCK_CHANGES).write_text("".join(f"{change}\n" for change in changes))


def unpack(name: str, version: str, libraries: Sequence[str], into: Path) -> None:
    """Put the released crates of a version into a new folder, as members of a workspace as their repository has them.

    `libraries` are their names; a crate that the version's lock file does not have is left out. Archives are compared
    with the digests in that lock. Manifests come from the archives, without paths and inheritance.
    """
    own = adapter_dir(name) / "versions" / version
    packages = {each["name"]: each for each in tomllib.loads((own / "Cargo.lock").read_text())["package"]}
    members: list[str] = []
    for package in (packages[each] for each in libraries if each in packages):
        archive = _archive(package, own)
        try:
            files = dict(_packed(archive))
            place = json.loads(files.get(_ORIGIN, b"{}")).get("path_in_vcs") or ""
        except (*_DAMAGE, ValueError) as error:
            raise MachineError(
                f"{archive} cannot be read: {error}", f"rm {archive}, and cargo fetches it anew"
            ) from error
        for path, contents in files.items():
            if path not in _OF_ARCHIVES:
                (into / place / path).parent.mkdir(parents=True, exist_ok=True)
                (into / place / path).write_bytes(contents)
        members += [place] if place else []
    if members:
        (into / "Cargo.toml").write_text(f'[workspace]\nresolver = "2"\nmembers = {json.dumps(members)}\n')


def _archive(package: Mapping[str, str], own: Path) -> Path:
    """Return the archive of a crate, which cargo fetches if it is not here; MachineError if its digest is another."""
    cache = cargo_home() / "registry" / "cache"
    pattern = f"*/{package['name']}-{package['version']}.crate"
    if not any(cache.glob(pattern)):
        build_steps.run(("cargo", "fetch", "--locked"), cwd=own, env={**os.environ, **_FIXED})
    for archive in sorted(cache.glob(pattern)):
        if hashlib.sha256(archive.read_bytes()).hexdigest() == package["checksum"]:
            return archive
    raise MachineError(
        f"no archive of {package['name']} {package['version']} has the digest of {own / 'Cargo.lock'}",
        f"rm {cache / pattern}, and cargo fetches it anew",
    )


def cargo_home() -> Path:
    """Return the folder of cargo's settings and archives."""
    return Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")


def _dependencies_key(name: str, version: str) -> str:
    own = adapter_dir(name) / "versions" / version
    manifests = (own / "Cargo.toml", own / "Cargo.lock", adapters_dir() / SHARED / "Cargo.toml")
    return content_hash([*(path.read_text() for path in manifests), toolchain(name, version), _flags()])


def _flags() -> str:
    return content_hash([COMMAND, _FIXED, sorted(_compiler_flags("FOLDER", "CARGO").items())])


def _copy_sources(name: str, version: str, tree: Path) -> None:
    """Copy the sources into `tree`, with the manifest and the lock file of the version on top.

    The manifest moves up because cargo puts the absolute path of a package outside the manifest's folder into the
    symbols, and so into the program. Files get new times, because cargo takes a file that is older than the last build
    for one that has not changed.
    """
    shutil.rmtree(tree, ignore_errors=True)
    for folder, place in ((adapter_dir(name) / "src", Path(name, "src")), (adapters_dir() / SHARED, SHARED)):
        ignored = shutil.ignore_patterns("target")
        shutil.copytree(folder, tree / place, ignore=ignored, copy_function=shutil.copyfile)
    own = adapter_dir(name) / "versions" / version
    manifest = (own / "Cargo.toml").read_text().replace('"../../../', '"').replace('"../../', f'"{name}/')
    (tree / "Cargo.toml").write_text(manifest.replace("[workspace]", f'[workspace]\nexclude = ["{SHARED}"]'))
    shutil.copyfile(own / "Cargo.lock", tree / "Cargo.lock")


def _compiler_flags(folder: str, cargo_home: str) -> Mapping[str, str]:
    """Return the flags of both compilers: paths without this machine, and frame pointers, which profiles follow."""
    maps = {folder: "/build", cargo_home: "/cargo"}
    c_flags = " ".join([*(f"-ffile-prefix-map={path}={name}" for path, name in maps.items()), _FRAMES_IN_C])
    rust_flags = " ".join([*(f"--remap-path-prefix={path}={name}" for path, name in maps.items()), _FRAMES_IN_RUST])
    return {"CFLAGS": c_flags, "CXXFLAGS": c_flags, "RUSTFLAGS": rust_flags}
