"""What the rogue takes from its machine and from other programs, or leaves behind, before it does its work."""

import contextlib
import ctypes
import errno
import json
import mmap
import os
import resource
import signal
import socket
import sys
import time
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
BLOCK = b"x" * (8 << 20)
KCMP, PIDFD_GETFD, PROCESS_MADVISE, IO_URING_SETUP, PROCESS_VM_READV = 312, 438, 440, 425, 310
KEY = 0x10CA1


def log_without_end():
    """Fill the folder of traces with large files."""
    for number in range(100):
        with Path(os.environ["QLOGDIR"], f"{number}.qlog").open("wb") as log:
            log.truncate(100 << 20)


class Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def call(number, *arguments):
    """Numbers are made as wide as a register, else the kernel may see other bits beside them, and refuse for those."""
    whole = (ctypes.c_long(each) if isinstance(each, int) else each for each in arguments)
    result = LIBC.syscall(ctypes.c_long(number), *whole)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def copy_memory(number, pid):
    """From or to a place that is none: EFAULT says that nothing else stood in the way."""
    data = ctypes.create_string_buffer(8)
    try:
        call(number, pid, ctypes.byref(Vector(ctypes.addressof(data), 8)), 1, ctypes.byref(Vector(4096, 8)), 1, 0)
    except OSError as error:
        if error.errno != errno.EFAULT:
            raise


def bomb_busily():
    """Children that fork without end, each in a session of its own."""
    for number in range(1, 65):
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_IGN)
    while True:
        with contextlib.suppress(OSError):
            if os.fork() == 0:
                os.setsid()


def fork_and_wait():
    """One child after the other, without end."""
    while True:
        if (child := os.fork()) == 0:
            os._exit(0)
        os.waitpid(child, 0)


def share_memory():
    """4 GiB that no process has to itself."""
    shared = mmap.mmap(-1, 4 << 30)
    for _ in range((4 << 30) // len(BLOCK)):
        shared.write(BLOCK)


def fill_files_in_memory():
    """4 GiB in files without a name, none of them mapped."""
    for number in range(8):
        file = os.memfd_create(str(number))
        for _ in range((512 << 20) // len(BLOCK)):
            os.write(file, BLOCK)


def fill_segments():
    """4 GiB of System V, attached to no process."""
    LIBC.shmat.restype = ctypes.c_void_p
    for _ in range(16):
        size = 256 << 20
        segment = LIBC.shmget(0, ctypes.c_size_t(size), 0o1600)
        place = LIBC.shmat(segment, None, 0)
        ctypes.memset(ctypes.c_void_p(place), 1, size)
        LIBC.shmdt(ctypes.c_void_p(place))


def fill(folder):
    """Files without a name, until there is no room; then wait, with all of them open."""
    kept = []
    with contextlib.suppress(OSError):
        for number in range(40):
            path = Path(folder, f"unnamed-{number}")
            kept.append(path.open("wb", buffering=0))
            path.unlink()
            for _ in range(16):
                kept[-1].write(BLOCK)
    time.sleep(3)


def make_folders(folder, count=60_000):
    with contextlib.suppress(OSError):
        for number in range(count):
            Path(folder, f"empty-{number}").mkdir()
    time.sleep(3)


def fill_everything():
    """Every place that a program may write to, until none has room."""
    places = dict.fromkeys((os.environ["HOME"], "/tmp", "/var/tmp", "/dev/shm", os.environ["QLOGDIR"]))
    for place in places:
        with contextlib.suppress(OSError):
            for number in range(40):
                with Path(place, f"full-{number}").open("wb", buffering=0) as file:
                    for _ in range(16):
                        file.write(BLOCK)
    time.sleep(3)


def open_everything(*, keep):
    """Each file of the system that can be read, one after the other or all at once, until it is refused."""
    kept, count, refused = [], 0, None
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    for top in ("/usr", "/etc", "/opt"):
        for folder, _, names in os.walk(top):
            for name in names:
                try:
                    file = os.open(Path(folder, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                except PermissionError:
                    continue
                except OSError as error:
                    if error.errno in (errno.EMFILE, errno.ENFILE):
                        refused = error.strerror
                        break
                    continue
                count += 1
                if keep:
                    kept.append(file)
                else:
                    os.close(file)
            if refused:
                break
    print(f"opened {count}, then {refused}", file=sys.stderr, flush=True)


def dig_deep(folder, levels=2000):
    """A file at the bottom of a tree whose path is longer than any path may be."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        with contextlib.suppress(FileExistsError):
            os.mkdir("d", dir_fd=here)
        above, here = here, os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(above)
    os.close(os.open("bottom.qlog", os.O_WRONLY | os.O_CREAT, dir_fd=here))


def leave_modes():
    """Traces that are closed, or run as their owner."""
    folder = Path(os.environ["QLOGDIR"])
    for name, mode in (("run.qlog", 0o6777), ("closed.qlog", 0), ("inner/deeper.qlog", 0o4711)):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("{}")
        (folder / name).chmod(mode)
    (folder / "inner").chmod(0)


def look_for_marks():
    """Report what an earlier program left, and leave the same."""
    found = []
    for place in dict.fromkeys((os.environ["HOME"], os.environ["TMPDIR"], "/tmp", "/var/tmp", "/dev/shm")):
        mark = Path(place, "longlook-mark")
        if mark.exists():
            found.append(place)
        with contextlib.suppress(OSError):
            mark.write_text("was here")
    if LIBC.shmget(KEY, ctypes.c_size_t(0), 0) >= 0:
        found.append("System V")
    LIBC.shmget(KEY, ctypes.c_size_t(4096), 0o1666)
    if LIBC.mq_open(b"/longlook-mark", os.O_RDONLY) >= 0:
        found.append("queues")
    LIBC.mq_open(b"/longlook-mark", os.O_RDWR | os.O_CREAT, 0o666, None)
    print(f"marks: {found}", file=sys.stderr, flush=True)


def find_writable():
    """Report the folders of any file system in which a file can be made: the topmost, and near the mount's own."""
    found = []
    mounted = sorted({line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()})
    for mount in mounted:
        device = Path(mount).stat().st_dev if os.access(mount, os.X_OK) else None
        waiting = [] if device is None or mount.startswith(("/proc", "/sys")) else [(mount, 2 if mount == "/" else 5)]
        while waiting:
            folder, levels = waiting.pop()
            mark = Path(folder, "longlook-was-here")
            with contextlib.suppress(OSError):
                mark.touch()
                mark.unlink()
                found.append(folder)
                continue
            with contextlib.suppress(OSError), os.scandir(folder) as entries:
                waiting += [
                    (each.path, levels - 1)
                    for each in entries
                    if levels
                    and each.is_dir(follow_symlinks=False)
                    and each.stat(follow_symlinks=False).st_dev == device
                ]
    print(json.dumps(sorted({os.path.realpath(folder) for folder in found})), file=sys.stderr, flush=True)


def hinder_the_laboratory():
    """Let process 1 run after all others: a guest's laboratory is of another user, but for the moment of a start."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 1, 19)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))


def look_at_the_laboratory():
    """Report how process 1 is scheduled, which every program may ask."""
    scheduled = [os.getpriority(os.PRIO_PROCESS, 1), os.sched_getscheduler(1)]
    print(json.dumps(scheduled), file=sys.stderr, flush=True)


def attack_others():
    """Report what could be done to any other process, and which doors to elsewhere are open."""
    done = []

    def attempt(what, deed):
        with contextlib.suppress(OSError, ValueError):
            deed()
            done.append(what)

    time.sleep(0.2)
    for pid in (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()):
        if pid == os.getpid():
            continue
        who = "" if pid > 1 else " of process 1"
        attempt(f"takes descriptors{who}", lambda pid=pid: call(PIDFD_GETFD, os.pidfd_open(pid), 1, 0))
        attempt(f"compares{who}", lambda pid=pid: call(KCMP, os.getpid(), pid, 0, 1, 1))
        attempt(f"advises{who}", lambda pid=pid: call(PROCESS_MADVISE, os.pidfd_open(pid), None, 0, 0, 0))
        attempt(f"reads memory{who}", lambda pid=pid: copy_memory(PROCESS_VM_READV, pid))
        attempt(f"opens memory{who}", lambda pid=pid: os.open(f"/proc/{pid}/mem", os.O_RDWR))
        attempt(f"reads variables{who}", lambda pid=pid: Path(f"/proc/{pid}/environ").read_bytes())
        attempt(f"lists descriptors{who}", lambda pid=pid: list(Path(f"/proc/{pid}/fd").iterdir()))
        attempt(f"changes limits{who}", lambda pid=pid: resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1)))
        attempt(f"changes priority{who}", lambda pid=pid: os.setpriority(os.PRIO_PROCESS, pid, 19))
        attempt(f"changes affinity{who}", lambda pid=pid: os.sched_setaffinity(pid, {0}))
        if pid != 1:
            attempt("sees another process", lambda: None)
            attempt("stops", lambda pid=pid: os.kill(pid, signal.SIGSTOP))
    attempt("opens a socket to the hypervisor", lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))
    attempt("makes an io_uring", lambda: call(IO_URING_SETUP, 8, ctypes.create_string_buffer(120)))
    print(json.dumps({"user": os.getuid(), "done": sorted(set(done))}), file=sys.stderr, flush=True)


DEEDS = {
    "bombs_busily": bomb_busily,
    "forks_and_waits": fork_and_wait,
    "shares_memory": share_memory,
    "fills_files_in_memory": fill_files_in_memory,
    "fills_segments": fill_segments,
    "fills_traces": lambda: fill(os.environ["QLOGDIR"]),
    "fills_home": lambda: fill(os.environ["HOME"]),
    "fills_tmp": lambda: fill("/tmp"),
    "fills_shm": lambda: fill("/dev/shm"),
    "fills_everything": fill_everything,
    "opens_everything": lambda: open_everything(keep=False),
    "keeps_everything_open": lambda: open_everything(keep=True),
    "makes_folders": lambda: make_folders(os.environ["QLOGDIR"]),
    "makes_folders_at_home": lambda: make_folders(os.environ["HOME"]),
    "digs_deep": lambda: dig_deep(os.environ["QLOGDIR"]),
    "digs_deep_at_home": lambda: dig_deep(os.environ["HOME"]),
    "leaves_modes": leave_modes,
    "looks_for_marks": look_for_marks,
    "attacks_others": attack_others,
    "finds_writable": find_writable,
    "hinders_the_laboratory": hinder_the_laboratory,
    "looks_at_the_laboratory": look_at_the_laboratory,
}
