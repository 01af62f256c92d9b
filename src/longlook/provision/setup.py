"""Installs what is missing: the guest kernel, stacks, and the system's packages that these name."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable

from longlook.core import MachineError, Program, registry
from longlook.provision import guest_kernel
from longlook.provision.progress import listening
from longlook.provision.shared_programs import also_shared, take_kernel
from longlook.provision.sources.resolve import parse_program

KERNEL = "kernel"
"""The part that is not a stack: the guest kernel of the engine `virtual`."""

ALL_VERSIONS = "all"
"""`quic-go@all` stands for every known version."""

DEFAULT_PARTS = (KERNEL, "quic-go", "chromium")
"""The parts that the shipped studies use."""

_APT_WAITS = ("-o", "DPkg::Lock::Timeout=600")
"""Makes two installations at once take turns, as dpkg demands."""


def spelt_out(parts: Iterable[str]) -> list[str]:
    """Return every part once, as `kernel` or `NAME@VERSION`, in the order given; InputError for an unknown one."""
    found: dict[str, None] = {}
    for part in parts:
        name, _, version = part.partition("@")
        if part == KERNEL:
            found[part] = None
        elif version == ALL_VERSIONS:
            stack = registry.stack(name)
            found |= dict.fromkeys(f"{name}@{known}" for known in stack.version_names)
        else:
            stack, version = parse_program(part)
            found[f"{stack.name}@{version}"] = None
    return list(found)


def is_part_installed(part: str) -> bool:
    """Return whether `install` has nothing to build or to fetch."""
    if part == KERNEL:
        return guest_kernel.installed()
    stack, version = parse_program(part)
    with also_shared():
        return stack.is_installed(version)


def install(part: str, say: Callable[[str], None]) -> Program:
    """Install one part if it is missing and return its program; call `say` with each step.

    A program or a kernel that another machine built of the same is taken instead, if it can be had. Raise MachineError
    if it cannot be installed here.
    """
    with listening(say), also_shared():
        if part == KERNEL:
            take_kernel(say)
            return guest_kernel.kernel_program(say)
        stack, version = parse_program(part)
        if not stack.is_installed(version):
            if stack.system_package is not None:
                _install_package(stack.system_package, say)
            say(f"installing {stack.name}@{version} …")
        return stack.program(version)


def _install_package(package: str, say: Callable[[str], None]) -> None:
    hint = f"apt-get install --no-install-recommends {package}"
    if shutil.which("apt-get") is None:
        raise MachineError(f"the system's package {package} is missing", f"install {package} with your system's tools")
    if os.geteuid() != 0:
        raise MachineError(f"the system's package {package} is missing", f"sudo {hint}")
    say(f"installing the system's package {package} …")
    for command in (["apt-get", "update", "-q"], [*hint.split(), "-y", "-q", *_APT_WAITS]):
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        )
        if done.returncode != 0:
            raise MachineError(f"{' '.join(command)} failed: {_last_line(done.stderr)}", f"run `{hint}` by hand")


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else "no message"
