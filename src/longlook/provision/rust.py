"""Stacks in Rust: one program per version, from the lock file that the version has, with what all of them share."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from longlook.core import (
    Command,
    ConnectionState,
    FromSources,
    Knob,
    MachineError,
    Program,
    ServerJob,
    SourceTree,
    Stack,
    Version,
    adapter_dir,
    adapters_dir,
    content_hash,
    server_arguments,
)
from longlook.provision import cargo
from longlook.provision.build_cache import build, is_built, sources_digest
from longlook.provision.crate_sources import state_crate_version

_CMAKE_HINT = "sudo apt-get install cmake g++ (for BoringSSL, which the crate brings along)"
_BORINGSSL = "deps/boringssl"
"""The folder of BoringSSL in the crates that bring it along."""
_REPEATABLE_BORINGSSL = {"OPENSSL_ia32cap": "~0x4000000000000000"}
"""BoringSSL mixes the processor's RDRAND into its random numbers, which no seed repeats: hide it."""


def cargo_stack(
    name: str,
    summary: str,
    versions: tuple[Version, ...],
    knobs: Mapping[str, Knob],
    *,
    protocols: tuple[str, ...] = ("h3",),
    boringssl: bool = False,
    libraries: tuple[str, ...] = (),
    early_data_protocols: tuple[str, ...] = ("h3",),
) -> Stack:
    """Return the stack of a Rust program in adapters/`name` that is both server and client.

    `boringssl` says that the program contains BoringSSL: its build needs cmake, and it runs in an environment in which
    its random numbers can be repeated. Over `early_data_protocols` its connections can be 0-RTT. `libraries` are the
    crates of the library's repository, first the one whose version the stack's is; by default the crate of that name.
    """
    own = libraries or (name,)
    submodule = _BORINGSSL if boringssl else ""
    env = _REPEATABLE_BORINGSSL if boringssl else {}

    def install(version: str) -> Program:
        return cargo_build(name, stack.version(version).name, needs_cmake=boringssl)

    def server_command(program: Program, job: ServerJob) -> Command:
        return Command((program.path, *server_arguments(job)), env)

    def client_command(program: Program, job_file: str) -> Command:
        return Command((program.path, "client", job_file), env)

    stack = Stack(
        name=name,
        summary=summary,
        roles=("server", "client"),
        protocols=protocols,
        connections=(ConnectionState.COLD, ConnectionState.RESUMED, ConnectionState.ZERO_RTT),
        versions=versions,
        knobs=knobs,
        log_formats=("qlog",),
        install=install,
        server_command=server_command,
        client_command=client_command,
        installed=lambda version: is_cargo_built(name, version),
        from_sources=FromSources(
            build=lambda tree: cargo_build(name, tree.of, needs_cmake=boringssl, tree=tree),
            is_built=lambda tree: is_cargo_built(name, tree.of, tree),
            state_version=lambda folder: state_crate_version(folder, own, submodule),
            unpack=lambda version, into: cargo.unpack(name, version, own, into),
        ),
        several_connections=True,
        early_data_protocols=early_data_protocols,
    )
    return stack


def cargo_build(name: str, version: str, *, needs_cmake: bool, tree: SourceTree | None = None) -> Program:
    """Return the program of adapters/`name` with the manifest and lock in its versions/`version`.

    A `tree` stands in for the library. The program is compiled if the cache does not hold it. Raises MachineError when
    a tool for that is missing.
    """

    def compile_in(_work: Path, out: Path) -> None:
        if needs_cmake and shutil.which("cmake") is None:
            raise MachineError(f"cmake is not installed, which {name} {version} is built with", _CMAKE_HINT)
        cargo.compile_program(name, version, out, tree)

    built_as = version if tree is None else tree.version
    return build(
        name, built_as, _sources(name), lambda: cargo.toolchain(name, version), compile_in, _recipe(name, version, tree)
    )


def is_cargo_built(name: str, version: str, tree: SourceTree | None = None) -> bool:
    """Return whether `cargo_build` has nothing to do; False if no Rust is installed."""
    built_as = version if tree is None else tree.version
    try:
        return is_built(
            name, built_as, _sources(name), lambda: cargo.toolchain(name, version), _recipe(name, version, tree)
        )
    except MachineError:
        return False


def _sources(name: str) -> Path:
    return adapter_dir(name) / "src"


def _recipe(name: str, version: str, tree: SourceTree | None) -> str:
    """Return the digest of what determines the program beside its own sources and the compilers."""
    own = adapter_dir(name) / "versions" / version
    shared = adapters_dir() / cargo.SHARED
    parts = [sources_digest(own), sources_digest(shared / "src"), (shared / "Cargo.toml").read_text(), cargo.settings()]
    return content_hash(parts if tree is None else [*parts, tree.digest])
