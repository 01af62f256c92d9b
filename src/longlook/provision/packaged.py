"""Installs servers from packages of Debian, with an adapter in Python beside them; the machine's own are not used."""

import platform
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from longlook.core import (
    Command,
    ConnectionState,
    MachineError,
    Program,
    ServerJob,
    Stack,
    Version,
    adapter_dir,
    content_hash,
    find_version,
    knobs,
    server_arguments,
    with_default,
)
from longlook.provision import build_steps
from longlook.provision.build_cache import build_folder, is_folder_built, sources_digest
from longlook.provision.debian import fetch_packages
from longlook.provision.python import ENVIRONMENT, compile_modules, copy_adapter, python_version, shared_digest

_ADAPTER, _ROOT = "adapter", "root"


@dataclass(frozen=True)
class DebianAdapter:
    """The adapter in `adapters/NAME`, whose versions each have a list of packages in its folder `packages`.

    `suites` has the release of Debian from which each version comes.
    """

    name: str
    versions: tuple[Version, ...]
    suites: Mapping[str, str]

    def install(self, version: str) -> Program:
        """Return the adapter with Debian's packages, from the cache or from Debian's archive."""
        return packaged(self.name, find_version(self.name, self.versions, version).name, self.suites[version])

    def installed(self, version: str) -> bool:
        """Return whether `install` has nothing to do."""
        return is_packaged(self.name, version)


def debian_server(
    name: str, summary: str, versions: tuple[Version, ...], suites: Mapping[str, str], *, streams: int
) -> Stack:
    """Return the stack of a server of HTTP/2 over TCP that releases of Debian have (`suites`: version → release).

    `streams` is how many requests at once the server takes if nobody sets it.
    """
    adapter = DebianAdapter(name, versions, suites)
    return Stack(
        name=name,
        summary=summary,
        roles=("server",),
        protocols=("h2",),
        connections=(ConnectionState.COLD, ConnectionState.RESUMED),
        versions=adapter.versions,
        knobs={"max_incoming_streams": with_default(knobs.MAX_INCOMING_STREAMS, f"stack: {streams}", maximum=100_000)},
        log_formats=(),
        install=adapter.install,
        server_command=packaged_server,
        installed=adapter.installed,
    )


def packaged(name: str, version: str, suite: str) -> Program:
    """Return the adapter with the packages of `packages/VERSION.txt` below its sources, made if the cache lacks it.

    `NAME_main.py version` must then print `version`. Raise MachineError if it does not, because the release of Debian
    has a newer one, or if the packages cannot be fetched.
    """
    if platform.machine() != "x86_64":
        raise MachineError(f"{name} is installed from packages for x86-64 only", "leave it out of the study")
    sources = adapter_dir(name)

    def make(out: Path, final: Path) -> None:
        out.mkdir()
        work = out.with_name("work")
        fetch_packages(sources / "packages" / f"{version}.txt", suite, work, out / _ROOT)
        shutil.rmtree(work)
        copy_adapter(sources, out / _ADAPTER)
        compile_modules(Path(sys.executable), out / _ADAPTER, final / _ADAPTER)
        probe = (sys.executable, "-S", f"{name}_main.py", "version", version)
        build_steps.run(probe, cwd=out / _ADAPTER, env=ENVIRONMENT)

    folder = build_folder(name, version, sources, python_version(), make, shared_digest())
    parts = [sources_digest(folder / _ADAPTER), sources_digest(folder / _ROOT), python_version()]
    return Program(str(folder / _ADAPTER / f"{name}_main.py"), content_hash(parts, length=64))


def is_packaged(name: str, version: str) -> bool:
    """Return whether `packaged` has nothing to do."""
    return is_folder_built(name, version, adapter_dir(name), python_version(), shared_digest())


def packaged_server(program: Program, job: ServerJob) -> Command:
    """Return the command that starts the adapter as a server; it needs no site-packages."""
    return Command((sys.executable, "-S", program.path, *server_arguments(job)), ENVIRONMENT)
