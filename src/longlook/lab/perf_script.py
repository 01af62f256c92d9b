"""Reads the text of `perf script`: which processes ran where when they were sampled. Pure.

A sample is a line `THREAD PID/TID`, followed by its call stack, innermost function first, and an empty line:

    program 27671/27680
    \tffffffff82046e22 udp_sendmsg ([kernel.kallsyms])
    \t           9faea syscall.Syscall6 (/cache/program)

A sample of system calls has no stack; it is a line `THREAD PID/TID raw_syscalls:sys_enter:`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from longlook.core import KERNEL, UNNAMED

SYSTEM_CALLS = "raw_syscalls:sys_enter"
"""The kernel's tracepoint at which every system call begins."""

_STACKS, _CALLS = ("--fields", "sw:pid,tid,comm,ip,sym,dso"), ("--fields", "trace:pid,tid,comm,event")


def script_options(*, calls: bool) -> tuple[str, ...]:
    """Return the options of `perf script` for what `read_samples` reads; `calls`: system calls were sampled, too."""
    return ("--show-task-events", "--show-lost-events", *_STACKS, *(_CALLS if calls else ()))


_KERNEL_FROM = 0xFFFF_8000_0000_0000
_HEAD = re.compile(
    r"^\s*(?P<comm>\S.*?)\s+(?P<pid>-?\d+)/-?\d+\s*"
    rf"(?:(?P<kind>PERF_RECORD_\w+)(?P<rest>.*)|(?P<call>{re.escape(SYSTEM_CALLS)}):\s*)?$"
)
_FRAME = re.compile(r"^\s+(?P<address>[0-9a-f]+) (?P<symbol>.*?) \((?P<image>[^()]*(?: \(deleted\))?)\)$")
_FORK = re.compile(r"\((\d+):\d+\):\((\d+):\d+\)")
_LOST = re.compile(r"lost (\d+)")


@dataclass
class Sampled:
    """Every sample of a recording. `stacks` has by process how often each folded stack was seen.

    A folded stack is the names of thread and functions, outermost first, with semicolons between. `parents` has the
    process that started each process; `lost` is how many samples the kernel had no room for. `calls` has by process how
    many system calls were sampled.
    """

    stacks: dict[int, Counter[str]] = field(default_factory=dict)
    calls: Counter[int] = field(default_factory=Counter)
    parents: dict[int, int] = field(default_factory=dict)
    lost: int = 0
    kernel_frames: int = 0
    kernel_frames_unnamed: int = 0

    @property
    def kernel_is_named(self) -> bool:
        """Whether the kernel names its functions; if it hides them, none has a name."""
        return self.kernel_frames == 0 or self.kernel_frames_unnamed < self.kernel_frames

    def of(self, roots: Iterable[int]) -> Counter[str]:
        """Return the stacks of these processes and all that they started, at any depth."""
        wanted = set(roots)
        found: Counter[str] = Counter()
        for pid, stacks in self.stacks.items():
            if not wanted.isdisjoint(self._line_of(pid)):
                found += stacks
        return found

    def calls_of(self, roots: Iterable[int]) -> int:
        """Return how many system calls of these processes, and of all that they started, were sampled."""
        wanted = set(roots)
        return sum(count for pid, count in self.calls.items() if not wanted.isdisjoint(self._line_of(pid)))

    def _line_of(self, pid: int) -> list[int]:
        line = [pid]
        while (parent := self.parents.get(line[-1])) is not None and parent not in line:
            line.append(parent)
        return line


def read_samples(lines: Iterable[str]) -> Sampled:
    """Return what `perf script` printed with `script_options`; lines of any other form are passed over."""
    found = Sampled()
    pid, comm = 0, ""
    frames: list[str] = []
    for line in lines:
        if not line.strip():
            _add(found, pid, comm, frames)
            pid, frames = 0, []
        elif (frame := _FRAME.match(line)) is not None and pid:
            frames.append(_name(found, frame))
        elif (head := _HEAD.match(line)) is not None:
            if head["call"] is not None:
                found.calls[int(head["pid"])] += 1
            elif head["kind"] is None:
                _add(found, pid, comm, frames)
                pid, comm, frames = int(head["pid"]), head["comm"], []
            elif (fork := _FORK.search(head["rest"])) is not None and head["kind"] == "PERF_RECORD_FORK":
                child, parent = int(fork[1]), int(fork[2])
                if child != parent:  # else it is a thread
                    found.parents[child] = parent
            elif (lost := _LOST.search(head["rest"])) is not None:
                found.lost += int(lost[1])
    _add(found, pid, comm, frames)
    return found


def folded(stacks: Mapping[str, int]) -> str:
    """Return stacks as lines `thread;outermost;…;innermost COUNT`, which every flame graph tool reads."""
    return "".join(f"{stack} {count}\n" for stack, count in sorted(stacks.items()))


def _add(found: Sampled, pid: int, comm: str, frames: list[str]) -> None:
    if pid > 0:  # 0 is an idle CPU, or a process outside of the laboratory
        stack = ";".join([comm.replace(";", ":"), *reversed(frames)])
        found.stacks.setdefault(pid, Counter())[stack] += 1


def _name(found: Sampled, frame: re.Match[str]) -> str:
    symbol, image = frame["symbol"].replace(";", ":"), PurePath(frame["image"].removesuffix(" (deleted)")).name
    symbol = symbol.partition("+0x")[0]
    if int(frame["address"], 16) >= _KERNEL_FROM:
        found.kernel_frames += 1
        found.kernel_frames_unnamed += symbol == UNNAMED
        return symbol + KERNEL
    if symbol != UNNAMED and ".so" not in image and not image.startswith("["):
        return symbol
    return f"{symbol} ({image})"
