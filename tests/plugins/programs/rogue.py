"""A server and client that follow adapters/CONTRACT.md over a trivial TCP protocol, and misbehave on request.

The protocol: one line `GET path`, answered by one line with the body's length and the body. Run as
`rogue.py server JSON`, `rogue.py proxy JSON`, `rogue.py client FILE` or `rogue.py session`.
"""

import contextlib
import ctypes
import hashlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import rogue_forge  # type: ignore[import-not-found]
import rogue_greed  # type: ignore[import-not-found]

TCP_CONGESTION = 13


def say(event, **keys):
    print(json.dumps({"event": event, **keys}), flush=True)


def hang():
    while True:
        signal.pause()


def leave_daemon():
    """A grandchild in a session of its own that outlives everything but its namespace."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            hang()
        os._exit(0)
    os.wait()


def spin():
    """Keep the CPU for ever and never ask for the time."""
    while True:
        pass


def wait_busily():
    """Until an alarm rings, without a system call: while the clock stands still, it never does."""
    rung = []
    signal.signal(signal.SIGALRM, lambda *_: rung.append(True))
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    while not rung:
        pass


def compute(cpu_s):
    """Keep the CPU for about that long on the host, without a system call."""
    for _ in range(int(cpu_s * 15_000_000)):
        pass


def need_jitter():
    """Abort like a library that seeds itself from the jitter of the CPU, and finds none in virtual time."""
    taken_ns = []
    for _ in range(200):
        began_ns = time.perf_counter_ns()
        compute(0.0001)
        taken_ns.append(time.perf_counter_ns() - began_ns)
    if len(set(taken_ns)) < 20:
        print("entropy: the CPU's jitter failed its health test", file=sys.stderr, flush=True)
        os.abort()


def eat_memory():
    """More than any guest has."""
    eaten = []
    while True:
        eaten.append(bytearray(b"x") * (64 << 20))


def crash_the_kernel():
    Path("/proc/sysrq-trigger").write_text("c")


def interrupt_the_laboratory():
    """Signals that pid 1 is safe from, whether or not it may be sent one."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(PermissionError):
            os.kill(1, number)


def print_without_pause():
    """Nothing that is of use, for ever."""
    line = b'{"event": "nonsense"}\n' * 2000
    while True:
        os.write(1, line)


def complain_without_pause():
    complaint = b"it is all the laboratory's fault\n" * 30_000
    while True:
        os.write(2, complaint)


def nest_deeply():
    """A line of JSON that is too deep for any parser that calls itself."""
    print("[" * 200_000, flush=True)
    print('{"a":' * 200_000, flush=True)


def bomb():
    """Start children until the kernel refuses, and wait."""
    try:
        while True:
            if os.fork() == 0:
                os.setsid()
                hang()
    except BlockingIOError:
        pass


def leave_traps():
    """Files in the folder of traces that a reader should not open."""
    folder = Path(os.environ["QLOGDIR"])
    (folder / "secret.qlog").symlink_to("/etc/shadow")
    os.mkfifo(folder / "pipe.qlog")
    (folder / "root").symlink_to("/")
    (folder / "real.qlog").write_text("{}")


def try_to_break_out():
    """Report on standard error what a program without privilege must not be able to do."""
    attempts = {
        "reads /etc/shadow": lambda: Path("/etc/shadow").read_bytes(),
        "writes to /etc": lambda: Path("/etc/longlook-was-here").touch(),
        "writes to /usr": lambda: Path("/usr/longlook-was-here").touch(),
        "is root": lambda: os.setuid(0),
        "writes to its trial": lambda: Path(sys.argv[2]).with_name("run.json").touch(),
        "mounts": lambda: mount("none", "/tmp", b"tmpfs"),
        "mounts the host": lambda: mount("none", "/tmp", b"hostfs"),
        "makes a user namespace": lambda: unshare(0x10000000),
        "makes a mount namespace": lambda: unshare(0x20000),
        "enters pid 1": lambda: list(Path("/proc/1/root").iterdir()),
        "sees the exchange": lambda: list(Path("/run/longlook/private").iterdir()),
    }
    done = []
    for what, attempt in attempts.items():
        try:
            attempt()
        except OSError:
            continue
        done.append(what)
    print(f"broke out: {done}, uid {os.getuid()}", file=sys.stderr, flush=True)


def mount(source, target, kind):
    check(ctypes.CDLL(None, use_errno=True).mount(source.encode(), target.encode(), kind, 0, None))


def unshare(flags):
    check(ctypes.CDLL(None, use_errno=True).unshare(flags))


def check(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), "refused")


DEEDS = {
    "prints_without_pause": print_without_pause,
    "complains_without_pause": complain_without_pause,
    "nests_deeply": nest_deeply,
    "bombs": bomb,
    "eats_memory": eat_memory,
    "logs_without_end": rogue_greed.log_without_end,
    "leaves_traps": leave_traps,
    "breaks_out": try_to_break_out,
    **rogue_greed.DEEDS,
    **rogue_forge.DEEDS,
}
"""What a server or a client does beside its work, before it listens or connects."""


def serve(order):
    fault = order["knobs"].get("fault", "none")
    signal.signal(signal.SIGTERM, signal.SIG_IGN if fault == "ignores_sigterm" else lambda *_: os._exit(0))
    listener = open_shop(order, fault)
    while True:
        connection, remote = listener.accept()
        say(
            "connection",
            protocol=order["protocol"],
            local=f"{order['address']}:{order['port']}",
            remote=f"{remote[0]}:{remote[1]}",
            resumed=fault == "resumes",
            used_0rtt=False,
            t_handshake_ns=time.time_ns(),
            congestion_control=congestion_control(connection, fault),
        )
        if fault == "hangs":
            hang()
        if fault == "prints_an_object":
            say("object", path="/a", t_start_ns=1, t_end_ns=2, bytes=1, error=None)
        for line in connection.makefile():
            body = (Path(order["www"]) / line.split()[1].lstrip("/")).read_bytes()
            if fault == "dies_in_the_middle":
                connection.sendall(f"{len(body)}\n".encode() + body[: len(body) // 2])
                os.kill(os.getpid(), signal.SIGSEGV)
            if fault == "wrong_body":
                body = body[:-1] + bytes([body[-1] ^ 1])
            if fault == "short_body":
                body = body[:-1]
            connection.sendall(f"{len(body)}\n".encode() + body)


def open_shop(order, fault):
    if fault == "unsupported":
        say("error", reason="rogue does not do this", supported=False)
        sys.exit(127)
    if fault == "dies_at_start":
        say("error", reason="made to die at its start")
        sys.exit(1)
    if fault == "never_ready":
        hang()
    if fault == "leaves_daemon":
        leave_daemon()
    DEEDS.get(fault, lambda: None)()
    listener = socket.create_server((order["address"], order["port"]))
    if fault == "port_in_use":
        try:
            socket.create_server((order["address"], order["port"]))
        except OSError as error:
            say("error", reason=f"port {order['port']}: {error.strerror}")
            sys.exit(1)
    say(
        "ready", role=sys.argv[1], protocol=order["protocol"], address=order["address"], port=order["port"], version="0"
    )
    return listener


def carry_on(order):
    """Carry connections on to the server, one after the other, byte by byte."""
    fault = order["knobs"].get("fault", "none")
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    here, there = (order["address"], order["port"]), tuple(order["upstream"])
    listener = open_shop(order, fault)
    while True:
        client, _ = listener.accept()
        if fault == "hangs":
            hang()
        if fault == "answers_by_itself":
            client.sendall(b"5\nhello")
            continue
        server = socket.create_connection(here if fault == "loops" else there)
        ways = {client: server, server: client}
        while ways:
            ready, _, _ = select.select(list(ways), [], [])
            data = ready[0].recv(1 << 16)
            if ready[0] is server and fault == "dies_in_the_middle":
                os.kill(os.getpid(), signal.SIGKILL)
            if ready[0] is server and fault == "wrong_body":
                data = data[:-1] + bytes([data[-1] ^ 1]) if data else data
            if data:
                ways[ready[0]].sendall(data)
            else:
                ways[ready[0]].close()
                ready[0].close()
                ways = {}


def congestion_control(connection, fault):
    if fault == "other_congestion_control":
        connection.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"reno")  # the locked route must refuse this
    return connection.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, 16).rstrip(b"\0").decode()


def connect(job):
    start_ns = time.time_ns()
    connection = socket.socket()
    if job["knobs"].get("fault") == "has_a_small_buffer":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    connection.connect((job["address"], job["port"]))
    local = connection.getsockname()
    say(
        "connection",
        protocol=job["protocol"],
        local=f"{local[0]}:{local[1]}",
        remote=f"{job['address']}:{job['port']}",
        primes=False,
        resumed=False,
        used_0rtt=False,
        t_start_ns=start_ns,
        t_handshake_ns=time.time_ns(),
    )
    return connection


def misbehave(fault):
    """What a client does wrong before it connects."""
    if fault == "prints_junk":
        print("Segmentation fault (only joking)", flush=True)
    deeds = DEEDS | {
        "hangs": hang,
        "spins": spin,
        "waits_busily": wait_busily,
        "computes": lambda: compute(3),
        "needs_jitter": need_jitter,
        "crashes_the_kernel": crash_the_kernel,
        "interrupts_the_laboratory": interrupt_the_laboratory,
        "crashes": lambda: os.kill(os.getpid(), signal.SIGABRT),
    }
    deeds.get("waits_busily" if sys.argv[3:] == ["busily"] else fault, lambda: None)()
    if fault.startswith("runs "):
        subprocess.run(fault.split()[1:], stdout=sys.stderr, check=False)


def forged(fault, answer, start_ns):
    """What a client says of an answer, which some make better than it was."""
    if fault == "ends_early":
        return {"t_start_ns": start_ns, **answer, "t_end_ns": answer["t_first_byte_ns"]}
    if fault == "begins_late":
        return {"t_start_ns": answer["t_first_byte_ns"], **answer}
    if fault == "has_no_time":
        return {"t_start_ns": float("nan"), **answer}
    if fault == "answers_from_before":
        return {
            **{key: value - 10**12 if key.startswith("t_") else value for key, value in answer.items()},
            "t_start_ns": 0,
        }
    return {"t_start_ns": start_ns, **answer}


def fetch(job):
    """Exit code of the contract."""
    fault = job["knobs"].get("fault", "none")
    if fault == "unsupported":
        say("error", reason="rogue does not do this", supported=False)
        return 127
    misbehave(fault)
    if fault == "leaves_daemon":
        leave_daemon()
    if fault == "two_connections":
        connect(job)
    start_ns = time.time_ns()
    connection = connect(job)
    connection.settimeout(job["timeout_s"])
    stream = connection.makefile("rb")
    paths = [path for phase in job["phases"] for path in phase]
    failed = False
    if fault == "prints_a_page":
        say(
            "page",
            url="https://forged/",
            t_start_ns=start_ns,
            t_first_byte_ns=start_ns + 500,
            t_loaded_ns=start_ns + 1000,
        )
    for path in paths[1:] if fault == "skips_an_object" else paths:
        answer = dict.fromkeys(("status", "t_first_byte_ns", "t_end_ns", "bytes", "digest"))
        error = None
        try:
            connection.sendall(f"GET {path}\n".encode())
            size = int(stream.readline())
            answer["t_first_byte_ns"] = time.time_ns()
            body = stream.read(size)
            digest = "sha256:" + hashlib.sha256(body).hexdigest()
            answer |= {"status": 200, "t_end_ns": time.time_ns(), "bytes": len(body), "digest": digest}
            if len(body) < size:
                error = "connection lost"
        except (OSError, ValueError) as problem:
            error = str(problem) or "connection lost"
        failed = failed or error is not None
        spoken = "http/1.1" if fault == "wrong_protocol" else job["protocol"]
        url = f"https://{job['identity']['host']}{path}"
        local = "{}:{}".format(*connection.getsockname())
        say("object", url=url, path=path, local=local, protocol=spoken, error=error, **forged(fault, answer, start_ns))
        start_ns = time.time_ns()
    return 1 if failed else 0


def session():
    say("ready", role="client", version="0")
    for line in sys.stdin:
        say("done", ok=fetch(json.loads(line)) == 0)


if __name__ == "__main__":
    role, *rest = sys.argv[1:]
    if role == "session":
        session()
    elif role in ("server", "proxy"):
        (serve if role == "server" else carry_on)(json.loads(rest[0]))
    else:
        sys.exit(fetch(json.loads(Path(rest[0]).read_text())))
