"""The recorder of the kernel's TCP, run on real connections over loopback in a network namespace of its own."""

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from longlook.core.programs import trace_program
from longlook.lab.linux.namespace import Namespace
from longlook.timeline.decode import decode_trace

pytestmark = [pytest.mark.lab, pytest.mark.realtime]

MAGIC = b"LLTCP1\n"
PORT = 4433
SIZE_BYTES = 3_000_000
PAUSE_S = 0.3
TIME_WAIT, LISTEN = "06", "0A"  # as /proc/net/tcp writes them
INSTANCES = Path("/sys/kernel/tracing/instances")
IS_ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not IS_ROOT, reason="tracepoints need the machine's root")


@dataclass
class Recording:
    ready: dict[str, Any]
    summary: dict[str, Any]


@contextmanager
def recorder(folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    ends = ["--server", str(folder / "server.tcptrace"), "--client", str(folder / "client.tcptrace")]
    argv = [trace_program().path, "record-tcp", "--port", str(PORT), *ends, *options]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def line(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    line: dict[str, Any] = json.loads(process.stdout.readline())
    return line


def transfer(recorder: int) -> None:
    """A download with a pause in the middle, in which the sender has nothing to send; `recorder`: process id."""
    listening = socket.create_server(("127.0.0.1", PORT))

    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(3)
            connection.sendall(bytes(SIZE_BYTES // 2))
            time.sleep(PAUSE_S)
            connection.sendall(bytes(SIZE_BYTES // 2))
            while _unacknowledged_bytes(connection):  # the kernel no longer counts them once the socket closes
                time.sleep(0.001)
            _wait_for_ticks(recorder)

    thread = threading.Thread(target=serve)
    thread.start()
    with listening, socket.create_connection(("127.0.0.1", PORT)) as client:
        client.sendall(b"get")
        received = 0
        while data := client.recv(1 << 16):
            received += len(data)
        assert received == SIZE_BYTES
    thread.join()
    while any(state != TIME_WAIT for state in _states()):
        time.sleep(0.001)


def _wait_for_ticks(recorder: int) -> None:
    """The last acknowledgement shows only in a sample, and a busy machine lets the recorder wait for its turn."""
    enough = _sleeps(recorder) + 40  # of one tick several may be waits for the kernel's locks, where others hold them
    while _sleeps(recorder) < enough:
        time.sleep(0.001)


def _sleeps(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])


def _states() -> list[str]:
    """The states of the connections of the thread's network namespace, without listening sockets."""
    lines = Path("/proc/thread-self/net/tcp").read_text().splitlines()[1:]
    return [state for state in (line.split()[3] for line in lines) if state != LISTEN]


def _unacknowledged_bytes(connection: socket.socket) -> int:
    return int.from_bytes(fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)), sys.byteorder)


def record(folder: Path, *options: str) -> Recording:
    with Namespace() as namespace, namespace.inside(), recorder(folder, *options) as process:
        ready = line(process)
        transfer(process.pid)
        time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        summary = line(process)
        assert process.wait(5) == 0
    return Recording(ready, summary)


def rows(table: pa.Table, kind: str) -> pa.Table:
    return table.filter(pc.equal(table["kind"].cast(pa.string()), kind))


def names(table: pa.Table, kind: str) -> Sequence[str | None]:
    found: list[str | None] = rows(table, kind)["name"].cast(pa.string()).to_pylist()
    return found


@needs_root
def test_everything_of_a_connection(tmp_path: Path) -> None:
    recording = record(tmp_path)
    assert "tcp_probe" in recording.ready["tracepoints"] and recording.ready["unavailable"] == []
    assert recording.summary["lost"] == 0
    table, account = decode_trace(tmp_path / "server.tcptrace", "server")
    (connection,) = account["connections"]
    assert connection["server"] == f"127.0.0.1:{PORT}"
    assert set(table["flow"].cast(pa.string()).to_pylist()) == {f"tcp {connection['client']} 127.0.0.1:{PORT}"}
    assert (account["format"], account["vantage"], account["truncated"]) == ("tcp", "server", False)
    assert account["skipped"] == {}
    acked = rows(table, "packet_acked")
    assert SIZE_BYTES <= acked["acked_bytes"].to_pylist()[-1] <= SIZE_BYTES + 1  # the FIN counts as one
    assert pc.sum(acked["size_bytes"]).as_py() == acked["acked_bytes"].to_pylist()[-1]
    metrics = rows(table, "metrics")
    assert pc.min(metrics["cwnd_bytes"]).as_py() > 10_000
    assert names(table, "milestone")[0] == "started"
    assert {"closing", "closed"} <= {*names(table, "milestone")}
    (parameters,) = rows(table, "parameters")["detail"].cast(pa.string()).to_pylist()
    assert json.loads(parameters)["congestion_control"]
    times = table["time_ns"].to_pylist()
    assert times == sorted(times)
    client, _ = decode_trace(tmp_path / "client.tcptrace", "client")
    assert pc.max(rows(client, "packet_acked")["acked_bytes"]).as_py() in (3, 4)


def test_without_tracepoints_samples_remain(tmp_path: Path) -> None:
    recording = record(tmp_path, "--no-tracepoints")
    assert recording.ready["tracepoints"] == []
    assert [entry["what"] for entry in recording.ready["unavailable"]] == ["tracepoints"]
    table, account = decode_trace(tmp_path / "server.tcptrace", "server")
    assert any("tracepoints could not be recorded" in warning["problem"] for warning in account["warnings"])
    assert pc.max(rows(table, "packet_acked")["acked_bytes"]).as_py() >= SIZE_BYTES // 2
    assert rows(table, "metrics").num_rows > 0
    assert "closed" in names(table, "milestone")


def test_a_user_without_privileges_gets_the_sockets(tmp_path: Path) -> None:
    program = f"""
import sys; sys.path[:0] = {sys.path!r}
from pathlib import Path
from longlook.lab.linux import system
from longlook.lab.linux.isolation import enter_user_namespace
enter_user_namespace(0, 0)
system.unshare(system.CLONE_NEWNET)  # as an agent's: into the machine's own it might not come back
from tests.lab.test_tcptrace import record
recording = record(Path({str(tmp_path)!r}))
lacking = [entry["what"] for entry in recording.ready["unavailable"]]
assert lacking == ["tracepoints"], recording
assert recording.ready["sock_diag"] is True
"""
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if IS_ROOT else []
    done = subprocess.run(
        [*user, sys.executable, "-c", program], check=False, capture_output=True, text=True, cwd="/", timeout=60
    )
    assert done.returncode == 0, done.stderr
    table, _ = decode_trace(tmp_path / "server.tcptrace", "server")
    assert rows(table, "metrics").num_rows > 0


@needs_root
def test_an_instance_that_a_kill_left_is_removed_by_the_next(tmp_path: Path) -> None:
    mounted = ["unshare", "-m", "sh", "-c", 'mount -t tracefs t /sys/kernel/tracing; ls "$0"', str(INSTANCES)]

    def instances(pid: int) -> list[str]:
        """Those of one recorder: other runs on the machine have theirs."""
        listed = subprocess.run(mounted, check=True, capture_output=True, text=True).stdout
        return [name for name in listed.split() if name.startswith(f"longlook-tcp-{pid}-")]

    with recorder(tmp_path) as killed:
        line(killed)
        assert len(instances(killed.pid)) == 1
        killed.kill()
        killed.wait()  # what it leaves, another run's recorder may remove as well as the next one here
    with recorder(tmp_path) as process:
        line(process)
        assert instances(killed.pid) == []
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0
    assert instances(process.pid) == []


@needs_root
def test_a_recording_cut_anywhere_is_read_up_to_the_cut(tmp_path: Path) -> None:
    record(tmp_path)
    whole = (tmp_path / "server.tcptrace").read_bytes()
    full, _ = decode_trace(tmp_path / "server.tcptrace", "server")
    part = tmp_path / "part.tcptrace"
    (length,) = struct.unpack_from("=I", whole, len(MAGIC))
    header = len(MAGIC) + 4 + length
    for end in range(header, len(whole), max(1, (len(whole) - header) // 7)):
        part.write_bytes(whole[:end])
        table, account = decode_trace(part, "server")
        assert account["truncated"] is True
        assert table.num_rows <= full.num_rows
