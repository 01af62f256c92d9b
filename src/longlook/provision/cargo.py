"""Compiles one Rust program with cargo in a fixed environment; its dependencies are compiled once and kept.

Cargo compares an archive with its digest when it downloads the archive, and later takes the unpacked crate as it is.
`verify` therefore compares unpacked crates with the lock file.
"""

import gzip
import hashlib
import os
import shutil
import tarfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from longlook.core import MachineError, adapters_dir, cache_dir, content_hash
from longlook.provision.build_cache import compile_with, locked, toolchain_version

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

_BINARY = Path("release", "adapter")
_LAYOUT = "manifest above all sources"
_KEY_FILE = "dependencies"
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
_RUST_HINT = "install Rust with rustup, or sudo apt-get install cargo (1.85 or newer)"
_C_HINT = "sudo apt-get install gcc g++"


def toolchain(name: str) -> str:
    """Return the versions of rustc, cargo and the C compiler that adapters/`name` is compiled with.

    Raises MachineError when one of them is missing. rustup may choose another Rust for the folder of an adapter.
    """
    folder = adapters_dir() / name / "src"
    rust = [toolchain_version((tool, "--version", "--verbose"), _RUST_HINT, folder) for tool in ("rustc", "cargo")]
    c_compiler = toolchain_version(("cc", "--version"), _C_HINT, folder).partition("\n")[0]
    return "\n".join((*rust, c_compiler))


def settings() -> str:
    """Return the digest of everything in this module that decides how a program is compiled."""
    return content_hash([_flags(), _LAYOUT])


def environment(folder: Path) -> dict[str, str]:
    """Return the whole environment of a build in `folder`.

    The user's variables that could change the program (RUSTFLAGS, CC, CFLAGS, CARGO_PROFILE_…, …) do not pass. Paths of
    this machine are replaced by fixed names, so that the same sources give the same program on any machine.
    """
    passed = {name: value for name, value in os.environ.items() if name in _PASSED or name.startswith(_PASSED_PREFIXES)}
    flags = _compiler_flags(str(folder), str(_cargo_home()))
    return {**passed, **_FIXED, **flags, "CARGO_TARGET_DIR": str(folder / "target")}


def compile_program(name: str, version: str, out: Path) -> None:
    """Compile adapters/`name` with the manifest and lock file in its versions/`version` into the file `out`.

    The cache keeps one folder per version with the compiled dependencies. It is used again as long as the manifests,
    the lock file, the compilers and the settings are the same. After any change of them, and after a build that was
    killed, everything is compiled from scratch. The adapter and the shared crate are always compiled. Builds of the
    same version wait for each other.
    """
    folder = cache_dir() / "cargo" / f"{name}-{version}"
    with locked(folder):
        key_file, key = folder / _KEY_FILE, _dependencies_key(name, version)
        if not key_file.is_file() or key_file.read_text() != key:
            shutil.rmtree(folder, ignore_errors=True)
        key_file.unlink(missing_ok=True)
        _copy_sources(name, version, folder / "tree")
        verify(folder / "tree" / "Cargo.lock", _cargo_home())
        try:
            compile_with(COMMAND, folder / "tree", environment(folder))
        except MachineError:
            key_file.write_text(key)  # cargo ended by itself: what it has compiled until then is whole
            raise
        shutil.copyfile(folder / "target" / _BINARY, out)
        key_file.write_text(key)


def _cargo_home() -> Path:
    return Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")


def _dependencies_key(name: str, version: str) -> str:
    own = adapters_dir() / name / "versions" / version
    manifests = (own / "Cargo.toml", own / "Cargo.lock", adapters_dir() / SHARED / "Cargo.toml")
    return content_hash([*(path.read_text() for path in manifests), toolchain(name), _flags()])


def _flags() -> str:
    return content_hash([COMMAND, _FIXED, sorted(_compiler_flags("FOLDER", "CARGO").items())])


def _copy_sources(name: str, version: str, tree: Path) -> None:
    """Copy the sources into `tree`, with the manifest and the lock file of the version on top.

    The manifest moves up because cargo puts the absolute path of a package outside the manifest's folder into the
    symbols, and so into the program. Files get new times, because cargo takes a file that is older than the last build
    for one that has not changed.
    """
    shutil.rmtree(tree, ignore_errors=True)
    for folder in (Path(name, "src"), SHARED):
        ignored = shutil.ignore_patterns("target")
        shutil.copytree(adapters_dir() / folder, tree / folder, ignore=ignored, copy_function=shutil.copyfile)
    own = adapters_dir() / name / "versions" / version
    manifest = (own / "Cargo.toml").read_text().replace('"../../../', '"').replace('"../../', f'"{name}/')
    (tree / "Cargo.toml").write_text(manifest.replace("[workspace]", f'[workspace]\nexclude = ["{SHARED}"]'))
    shutil.copyfile(own / "Cargo.lock", tree / "Cargo.lock")


def _compiler_flags(folder: str, cargo_home: str) -> Mapping[str, str]:
    """Return the flags of both compilers: paths without this machine, and frame pointers, which profiles follow."""
    maps = {folder: "/build", cargo_home: "/cargo"}
    c_flags = " ".join([*(f"-ffile-prefix-map={path}={name}" for path, name in maps.items()), _FRAMES_IN_C])
    rust_flags = " ".join([*(f"--remap-path-prefix={path}={name}" for path, name in maps.items()), _FRAMES_IN_RUST])
    return {"CFLAGS": c_flags, "CXXFLAGS": c_flags, "RUSTFLAGS": rust_flags}
