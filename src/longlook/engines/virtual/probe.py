"""Finds out whether a guest can be booted here, and how: once for each kernel, boot of the host and seccomp policy."""

import json
import os
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from longlook.core import MachineError, Program, box_program, codec, paths, programs_are_trusted
from longlook.engines.virtual import groups
from longlook.engines.virtual.boot import Boot, Guest, boot
from longlook.engines.virtual.box import FENCES, shown_in_box
from longlook.engines.virtual.cpus import one_cpu
from longlook.engines.virtual.scratch import exchange_directory
from longlook.provision import kernel_program

_PROBE_LIMIT_S = 30.0
_HELLO = "longlook-guest-works"
_ANSWER_FORMAT = b"longlook: %s["  # in a kernel that answers SIGUSR2 (kernel/time-travel.patch)
_KEEPS_PROGRAMS_IN = b"was ended by the kernel"  # in one whose programs cannot use its stub by seccomp (same patch)
_RECORD = 2  # of probes before 2026-11-26 some say `seccomp` of kernels that keep no program in
_LIVE = "or run in real time: --engine live"


def find_guest() -> Guest:
    """Return the guest for this machine, from the record of an earlier probe if there is one.

    Raise MachineError if none boots; nothing ever switches to another engine by itself.
    """
    groups.clear()
    program = kernel_program(lambda _text: None)
    here = [_RECORD, program.digest, box_program().digest, _boot_id(), os.geteuid(), _policy()]
    record = paths.state_dir() / f"guest-{codec.content_hash(here)}.json"
    try:
        # The same kernel may lie elsewhere now.
        return replace(codec.decode(Guest, json.loads(record.read_text())), kernel=program.path)
    except (OSError, ValueError):
        guest = _probe(program)
        with suppress(OSError):  # a cache that cannot be written: the next start tries again
            record.parent.mkdir(parents=True, exist_ok=True)
            partial = record.with_suffix(f".{os.getpid()}")
            partial.write_text(json.dumps(asdict(guest)))
            partial.replace(record)
        return guest


def fence_note(guest: Guest) -> str | None:
    """Return what a user should know about the box of guests here: that nothing of it keeps programs from files."""
    if any(layer in guest.box.there for layer in FENCES):
        return None
    return (
        "virtual time: nothing confines a program that leaves its guest on this machine "
        f"({guest.box}); you said that you trust the programs under test"
    )


def note_on(guest: Guest) -> str | None:
    """Return what a user should know about the way in which guests run here; None if it is the usual one."""
    if guest.userspace == "ptrace":
        return (
            "virtual time: this machine, or this kernel, does not let a guest run its programs safely by seccomp, so "
            "it runs them by ptrace: the results are the same, and trials take about a quarter more CPU time"
        )
    return None


def _probe(program: Program) -> Guest:
    failures = []
    kernel = Path(program.path).read_bytes()
    answers = _ANSWER_FORMAT in kernel
    for userspace in ("seccomp", "ptrace") if _KEEPS_PROGRAMS_IN in kernel else ("ptrace",):
        guest = Guest(program.path, userspace=userspace, answers=answers)
        with one_cpu() as cpu, exchange_directory() as exchange:
            options = Boot(("echo", _HELLO), {}, 1, cpu, _PROBE_LIMIT_S, shown_in_box([guest.kernel]))
            result = boot(replace(guest, memory="256M"), options, exchange)
        if _HELLO in result.console:  # the kernel panics afterwards, because its first process ended
            return replace(guest, box=result.layers)
        lines = result.console.strip().splitlines()
        failures.append(f"{userspace}: {lines[-1] if lines else result.reason or 'it printed nothing'}")
    raise MachineError(
        f"the guest's kernel {program.path} does not boot here ({'; '.join(failures)})",
        f"name a User-Mode Linux kernel by LONGLOOK_KERNEL, or unset it and: longlook setup kernel; {_LIVE}",
    )


def _policy() -> list[str]:
    """Return what this process may do: a record made in one container does not hold in another."""
    lines = Path("/proc/self/status").read_text().splitlines()
    kept = [line for line in lines if line.startswith(("Seccomp", "NoNewPrivs", "CapEff"))]
    return [*kept, str(programs_are_trusted())]


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
