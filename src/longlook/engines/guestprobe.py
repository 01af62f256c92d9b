"""Whether a guest can be booted here, and how; tried once for each kernel and start of the host."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

from longlook import codec, paths
from longlook.engines.boot import Guest, boot
from longlook.engines.cpus import one_cpu
from longlook.errors import MachineError
from longlook.guestkernel import kernel_program
from longlook.job import Program

_PROBE_LIMIT_S = 30.0
_HELLO = "longlook-guest-works"
_IMPORTS = (
    "import longlook.guest, longlook.guest_calibration, longlook.lab.laboratory, longlook.lab.calibrator; "
    'from longlook import registry; registry.load("stacks")'
)
_LIVE = "or run in real time: --engine live"


def find_guest() -> Guest:
    """The guest for this machine. MachineError where none boots; nothing ever switches to another engine by itself."""
    if shutil.which("setpriv") is None:
        raise MachineError("setpriv is missing", f"sudo apt-get install util-linux, {_LIVE}")
    program = kernel_program(lambda _text: None)
    record = paths.state_dir() / f"guest-{codec.content_hash([program.digest, _boot_id(), os.geteuid()])}.json"
    try:
        return codec.decode(Guest, json.loads(record.read_text()))
    except (OSError, ValueError):
        guest = _probe(program)
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps(asdict(guest)))
        return guest


def _probe(program: Program) -> Guest:
    last = ""
    for userspace in ("seccomp", "ptrace"):
        guest = Guest(program.path, userspace=userspace)
        with one_cpu() as cpu, tempfile.TemporaryDirectory(prefix="longlook-probe-") as box:
            ended = boot(replace(guest, memory="256M"), ("echo", _HELLO), {}, Path(box), 1, cpu, _PROBE_LIMIT_S)
        if _HELLO in ended.console:  # the kernel then gives up, because its first process ended
            return guest
        last = ended.console.strip().splitlines()[-1] if ended.console.strip() else (ended.reason or "it said nothing")
    raise MachineError(
        f"the guest's kernel {program.path} does not boot here: {last}", f"name another by LONGLOOK_KERNEL, {_LIVE}"
    )


def warm_imports() -> str:
    """A folder with the compiled modules of what a guest imports, so that no boot has to compile them."""
    folder = paths.cache_dir() / "pycache"
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTS],
        env={**_without_python(), "PYTHONPYCACHEPREFIX": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise MachineError(
            f"the guest's agent cannot be imported: {done.stderr.strip().splitlines()[-1]}", "make build"
        )
    return str(folder)


def _without_python() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
