"""How the rogue writes another program's measurements, and what a program that leaves every door open offers to it."""

import atexit
import contextlib
import ctypes
import json
import mmap
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path

from rogue_greed import LIBC, PIDFD_GETFD, call, copy_memory  # type: ignore[import-not-found]

PROCESS_VM_WRITEV, PTRACE_SEIZE, PTRACE_ATTACH, SET_PTRACER, SET_DUMPABLE = 311, 0x4206, 16, 0x59616D61, 4
KEY, NAME = 0xD00125, "longlook-door"
CLEAN, FORGED = b"clean", b"forged"
FILES = tuple(Path(folder, NAME) for folder in ("/dev/shm", "/tmp", "/var/tmp"))
PIDS_TRIED, USERS_TRIED = 400, 4
LINE = b'{"event": "page", "url": "https://forged/", "t_start_ns": 1, "t_first_byte_ns": 2, "t_loaded_ns": 3}\n'


def refused(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def write_into(path):
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.write(descriptor, LINE if path.startswith("/proc/") else FORGED)


def trace(request, pid):
    refused(LIBC.ptrace(ctypes.c_long(request), ctypes.c_long(pid), None, None))


def write_segment():
    LIBC.shmat.restype = ctypes.c_void_p
    place = LIBC.shmat(refused(LIBC.shmget(KEY, ctypes.c_size_t(0), 0)), None, 0)
    ctypes.memmove(ctypes.c_void_p(place), FORGED, len(FORGED))


def send_to_queue():
    refused(LIBC.msgsnd(refused(LIBC.msgget(KEY, 0)), ctypes.create_string_buffer(b"\1" + bytes(31)), 16, 0o4000))


def send_to_named_queue():
    refused(LIBC.mq_send(refused(LIBC.mq_open(f"/{NAME}".encode(), os.O_WRONLY)), FORGED, len(FORGED), 0))


def connect_to(address):
    with socket.socket(socket.AF_UNIX) as door:
        door.connect(address)
        door.send(FORGED)


def attempts():
    """Every way from one process into another, by name."""
    own = {os.getpid(), os.getpgrp(), *(int(path.name) for path in Path("/proc/self/task").iterdir())}
    for pid in sorted(set(range(1, PIDS_TRIED)) - own):
        who = "" if pid > 1 else " of process 1"
        yield f"writes to standard output{who}", lambda pid=pid: write_into(f"/proc/{pid}/fd/1")
        yield f"opens memory{who}", lambda pid=pid: os.close(os.open(f"/proc/{pid}/mem", os.O_WRONLY))
        yield f"takes standard output{who}", lambda pid=pid: os.write(call(PIDFD_GETFD, os.pidfd_open(pid), 1, 0), LINE)
        yield f"writes to memory{who}", lambda pid=pid: copy_memory(PROCESS_VM_WRITEV, pid)
        yield f"traces{who}", lambda pid=pid: trace(PTRACE_SEIZE, pid)
        yield f"stops and traces{who}", lambda pid=pid: trace(PTRACE_ATTACH, pid)
        yield f"slows{who}", lambda pid=pid: os.setpriority(os.PRIO_PROCESS, pid, 19)
        yield f"slows the group{who}", lambda pid=pid: os.setpriority(os.PRIO_PGRP, pid, 19)
        yield f"lets run late{who}", lambda pid=pid: Path(f"/proc/{pid}/timerslack_ns").write_text("1000000000")
        if pid > 1:
            yield "stops", lambda pid=pid: os.kill(pid, signal.SIGSTOP)
            yield "stops the group", lambda pid=pid: os.killpg(pid, signal.SIGSTOP)
    for user in range(os.getuid() - USERS_TRIED, os.getuid() + USERS_TRIED + 1):
        if user != os.getuid() and user >= 0:
            yield "slows another user", lambda user=user: os.setpriority(os.PRIO_USER, user, 19)
    for path in FILES:
        yield f"writes to {path}", lambda path=path: write_into(str(path))
        yield f"connects to {path}", lambda path=path: connect_to(f"{path}.socket")
    yield "writes to a segment", write_segment
    yield "sends to a queue", send_to_queue
    yield "sends to a named queue", send_to_named_queue
    yield "connects to an abstract socket", lambda: connect_to(f"\0{NAME}")


def forge():
    """Try all of it again and again while serving; report each pass, with all that has been done so far."""
    done = set()

    def go_on():
        while True:
            for what, attempt in attempts():
                with contextlib.suppress(OSError, ValueError):
                    attempt()
                    done.add(what)
            print(json.dumps(sorted(done)), file=sys.stderr, flush=True)
            time.sleep(0.05)

    threading.Thread(target=go_on, daemon=True).start()


def keep_doors_open():
    """Offer everybody all that processes can share; report at the end what is offered, and what was touched."""
    LIBC.prctl(SET_DUMPABLE, 1, 0, 0, 0)
    LIBC.prctl(SET_PTRACER, ctypes.c_long(-1), 0, 0, 0)
    os.umask(0)
    offered, touched = [], []
    for path in FILES:
        path.write_bytes(CLEAN)
        path.chmod(0o666)
        offered.append(str(path))
    segment = LIBC.shmget(KEY, ctypes.c_size_t(mmap.PAGESIZE), 0o1666)
    LIBC.shmat.restype = ctypes.c_void_p
    place = LIBC.shmat(segment, None, 0)
    queue = LIBC.msgget(KEY, 0o1666)
    named = LIBC.mq_open(f"/{NAME}".encode(), os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o666, None)
    offered += [name for name, made in (("segment", segment), ("queue", queue), ("named queue", named)) if made >= 0]
    doors = {}
    for address in (f"\0{NAME}", *(f"{path}.socket" for path in FILES)):
        doors[address] = socket.socket(socket.AF_UNIX)
        doors[address].bind(address)
        doors[address].listen()
        doors[address].setblocking(False)
        offered.append(address.replace("\0", "@"))

    def report():
        touched.extend(str(path) for path in FILES if path.read_bytes() != CLEAN)
        if segment >= 0 and any(ctypes.string_at(place, len(FORGED))):
            touched.append("segment")
        if queue >= 0 and LIBC.msgrcv(queue, ctypes.create_string_buffer(64), 32, 0, 0o4000) >= 0:
            touched.append("queue")
        if named >= 0 and LIBC.mq_receive(named, ctypes.create_string_buffer(1 << 16), 1 << 16, None) >= 0:
            touched.append("named queue")
        for address, door in doors.items():
            with contextlib.suppress(BlockingIOError):
                door.accept()
                touched.append(address.replace("\0", "@"))
        if os.getpriority(os.PRIO_PROCESS, 0) != 0:
            touched.append("priority")
        print(json.dumps({"offered": offered, "touched": touched}), file=sys.stderr, flush=True)

    atexit.register(report)
    time.sleep(0.5)


def succeed_together():
    """Do the same to a child of the same user, which nothing keeps apart; to be run in a PID namespace of its own."""
    if (child := os.fork()) == 0:
        keep_doors_open()
        time.sleep(60)
    time.sleep(0.3)
    done = set()
    for what, attempt in attempts():
        with contextlib.suppress(OSError, ValueError):
            attempt()
            done.add(what)
    os.kill(child, signal.SIGKILL)
    print(json.dumps(sorted(done)))


DEEDS = {"forges_for_others": forge, "keeps_doors_open": keep_doors_open}

if __name__ == "__main__":
    succeed_together()
