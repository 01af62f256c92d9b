"""Installing what is missing: the guest kernel and stacks, and with those the system's packages they name."""

import os
import shutil
import subprocess
from collections.abc import Callable

from longlook import guestkernel, registry
from longlook.errors import MachineError
from longlook.job import Program
from longlook.stacks import Stack

KERNEL = "kernel"
"""The part that is no stack: the guest kernel of the engine `virtual`."""

DEFAULT_PARTS = (KERNEL, "quic-go", "chromium")
"""What the shipped studies use."""


def parse_part(part: str) -> tuple[Stack, str]:
    """A part as people write it, `quic-go` or `quic-go@0.65.0`."""
    name, _, version = part.partition("@")
    stack: Stack = registry.get("stacks", name)
    return stack, stack.version(version).name if version else stack.default_version


def install(part: str, say: Callable[[str], None]) -> Program:
    """Make one part ready and return its program; does nothing when it is."""
    if part == KERNEL:
        return guestkernel.kernel_program(say)
    stack, version = parse_part(part)
    if stack.system_package is not None and not stack.installed(version):
        _install_package(stack.system_package, say)
    if not stack.installed(version):
        say(f"installing {stack.name}@{version} …")
    return stack.install(version)


def _install_package(package: str, say: Callable[[str], None]) -> None:
    mend = f"apt-get install --no-install-recommends {package}"
    if shutil.which("apt-get") is None:
        raise MachineError(f"the system's package {package} is missing", f"install {package} with your system's tools")
    if os.geteuid() != 0:
        raise MachineError(f"the system's package {package} is missing", f"sudo {mend}")
    say(f"installing the system's package {package} …")
    for command in (["apt-get", "update", "-q"], [*mend.split(), "-y", "-q"]):
        answer = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        )
        if answer.returncode != 0:
            raise MachineError(f"{' '.join(command)} failed: {_last_line(answer.stderr)}", f"run `{mend}` by hand")


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else "no message"
