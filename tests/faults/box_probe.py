"""What a program that has left its guest could do: run in a box in the kernel's place, it prints what succeeded."""

import ctypes
import errno
import json
import mmap
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
MOUNT, UNSHARE, SETNS, BPF, IO_URING_SETUP, KEYCTL, PERF_EVENT_OPEN, PTRACE = 165, 272, 308, 321, 425, 250, 298, 101
OPEN_BY_HANDLE_AT, USERFAULTFD, SHMGET, CLONE3 = 304, 323, 29, 435
PTRACE_ATTACH, KEEPER = 16, 1
PIECE = 1 << 20


def call(number: int, *arguments: object) -> None:
    if LIBC.syscall(ctypes.c_long(number), *arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def write(path: str) -> None:
    Path(path, "written").write_text("here\n")


def attempts(launcher: int, secret: str) -> dict[str, Callable[[], object]]:
    return {
        "read shadow": lambda: Path("/etc/shadow").read_text(),
        "read a file that was not shown": lambda: Path(secret).read_text(),
        **{
            f"write to {place}": lambda place=place: write(place) for place in ("/", "/tmp", "/var/tmp", "/etc", "/usr")
        },
        "write to the exchange folder": lambda: write("."),
        "write to the memory": lambda: write(os.environ["TMPDIR"]),
        "see a process of the host": lambda: list(Path(f"/proc/{launcher}").iterdir()),
        "signal the launcher": lambda: os.kill(launcher, 0),
        "trace the keeper": lambda: call(PTRACE, PTRACE_ATTACH, KEEPER, 0, 0),
        "TCP": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
        "UDP over IPv6": lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM),
        "vsock": lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM),
        "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
        "connect to a socket of the host": lambda: socket.socket(socket.AF_UNIX).connect("/run/x"),
        "become root": lambda: os.setresuid(0, 0, 0),
        "chroot": lambda: os.chroot("/"),
        "make a link": lambda: Path("link").symlink_to("/etc/shadow"),
        "make a second name": lambda: Path("second").hardlink_to("init"),
        "make a pipe": lambda: os.mkfifo("pipe"),
        "mount": lambda: call(MOUNT, b"none", b"/tmp", b"tmpfs", 0, None),
        "a user namespace": lambda: call(UNSHARE, 0x10000000),
        "enter a namespace": lambda: call(SETNS, 0, 0),
        "clone3": lambda: call(CLONE3, None, 0),
        "bpf": lambda: call(BPF, 0, None, 0),
        "io_uring": lambda: call(IO_URING_SETUP, 1, None),
        "keys": lambda: call(KEYCTL, 0, 0, 0, 0, 0),
        "perf": lambda: call(PERF_EVENT_OPEN, None, 0, -1, -1, 0),
        "files by handle": lambda: call(OPEN_BY_HANDLE_AT, -1, None, 0),
        "userfaultfd": lambda: call(USERFAULTFD, 0),
        "shared memory of System V": lambda: call(SHMGET, 0, 4096, 0o1600),
    }


def done(what: Callable[[], object]) -> bool:
    try:
        what()
    except OSError as error:
        # Anything but a refusal would be a call that got through.
        assert error.errno in (errno.EPERM, errno.EACCES, errno.ENOENT, errno.EROFS, errno.ESRCH), error
        return False
    return True


def processes() -> int:
    """How many processes can be had, beyond this one."""
    reading, writing = os.pipe()
    count = 0
    while True:
        try:
            pid = os.fork()
        except OSError:
            os.close(writing)
            return count
        if pid == 0:
            os.close(writing)
            os.read(reading, 1)  # until the parent closes the pipe
            os._exit(0)
        count += 1


def fill_memory_file() -> int:
    """How many bytes the file system for the guest's memory takes."""
    written = 0
    with Path(os.environ["TMPDIR"], "full").open("wb", buffering=0) as file:
        try:
            while True:
                written += file.write(bytes(PIECE))
        except OSError:
            return written


def take_memory(most: int) -> int:
    """How the taker of so many bytes ends: 0 where it got all of them, else the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        taken = mmap.mmap(-1, most)  # shared, which counts for no process
        for offset in range(0, most, 4096):
            taken[offset] = 1
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def main() -> None:
    launcher, secret, work = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    found: dict[str, object] = {"uid": os.getuid(), "root": sorted(path.name for path in Path("/").iterdir())}
    if work == "attempts":
        found["done"] = [name for name, what in attempts(launcher, secret).items() if done(what)]
    elif work == "processes":
        found["count"] = processes()
    elif work == "file":
        found["count"] = fill_memory_file()
    elif work == "memory":
        found["signal"] = take_memory(1 << 30)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
