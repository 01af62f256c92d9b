"""A client's side with a share of a CPU: its programs and its kernel's receive path together get no more."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from longlook.core.errors import MachineError
from longlook.core.programs import link_program
from longlook.lab.cpu_limit import Slow, SlowSide
from longlook.lab.environment import Environment
from longlook.lab.linux import cpuquota, receive_cost
from longlook.lab.linux.namespace import Namespace
from longlook.lab.linux.netlink import NetlinkError
from longlook.lab.topology import CLIENT, PACKET, SERVER, TUN
from tests.support.link_host import wait_for

pytestmark = [pytest.mark.lab, pytest.mark.realtime]

MARKER = f"slow{os.getpid()}"  # control groups are the whole machine's, and other tests may run on it
SHARE = 0.05
PORT = 8000
SINK = f"import socket; s = socket.create_server(('198.18.0.1', {PORT})).accept()[0]\nwhile s.recv(1 << 16): pass"
SOURCE = f"""import socket, time
while True:
    try:
        socket_ = socket.create_connection(('198.18.0.1', {PORT}), 10)
        break
    except ConnectionRefusedError:  # a program with a share of a CPU takes its time to start
        time.sleep(0.05)
while True: socket_.send(bytes(1 << 16))"""


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[ExitStack]:
    try:
        cpuquota.controller()
    except MachineError as error:
        pytest.skip(error.message)
    with ExitStack() as stack:
        stack.callback(cpuquota.clear, MARKER)
        yield stack


def slow_side(parts: ExitStack, folder: Path, router: Namespace, path: str = PACKET) -> SlowSide:
    environment = Environment(folder, MARKER)
    return parts.enter_context(SlowSide(CLIENT, router, path, Slow(SHARE, link_program().path), environment, "one"))


def as_server(router: Namespace, device: str) -> None:
    """Give the router's end of a side the address of the server, which it talks to itself here."""
    index = router.index(device)
    router.netlink.link("set", index=index, address=SERVER.mac)
    router.netlink.addr("add", index=index, address=SERVER.address, prefixlen=16)


def start(parts: ExitStack, code: str) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen([sys.executable, "-S", "-c", code], stderr=subprocess.DEVNULL)
    parts.callback(process.wait)
    parts.callback(process.kill)
    return process


def cpu_s(process: "subprocess.Popen[bytes]") -> float:
    """User and system time of a process so far, in seconds."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def test_programs_and_the_kernel_that_receives_for_them_share_what_they_are_given(
    parts: ExitStack, tmp_path: Path
) -> None:
    router = parts.enter_context(Namespace())
    side = slow_side(parts, tmp_path, router)
    as_server(router, side.end.router_device)
    with side.namespace.inside(), side.quota.inside():
        sink = start(parts, SINK)
    with router.inside():
        start(parts, SOURCE)
    wait_for(lambda: side.namespace.received(side.end.device) > 100)

    before, sink_before_s, began_s = side.slowness(), cpu_s(sink), time.monotonic()
    wait_for(lambda: side.slowness()["client_receive_cpu_s"] - before["client_receive_cpu_s"] > 0.05)
    after, lasted_s = side.slowness(), time.monotonic() - began_s
    used_s = after["client_receive_cpu_s"] - before["client_receive_cpu_s"] + cpu_s(sink) - sink_before_s

    assert used_s < SHARE * lasted_s + 0.05
    assert after["client_cpu_periods_throttled"] > before["client_cpu_periods_throttled"]
    assert os.sched_getaffinity(sink.pid) == {max(os.sched_getaffinity(0))}


def test_closing_leaves_neither_a_relay_nor_a_group(parts: ExitStack, tmp_path: Path) -> None:
    router = parts.enter_context(Namespace())
    slow_side(parts, tmp_path, router)
    group = cpuquota.controller().folder / f"longlook-{MARKER}-one"
    (relay,) = (group / "cgroup.procs").read_text().split()
    parts.close()
    assert not group.exists()
    assert not Path(f"/proc/{relay}").exists()


def test_a_side_that_cannot_be_made_leaves_no_group(parts: ExitStack, tmp_path: Path) -> None:
    router = parts.enter_context(Namespace())
    slow_side(parts, tmp_path, router)
    with pytest.raises(NetlinkError):  # the router has such a device already
        SlowSide(CLIENT, router, PACKET, Slow(SHARE, link_program().path), Environment(tmp_path, MARKER), "two")
    assert not (cpuquota.controller().folder / f"longlook-{MARKER}-two").exists()


def test_a_relay_that_ends_is_no_result_but_a_fault(parts: ExitStack, tmp_path: Path) -> None:
    router = parts.enter_context(Namespace())
    side = slow_side(parts, tmp_path, router)
    group = cpuquota.controller().folder / f"longlook-{MARKER}-one"
    os.kill(int((group / "cgroup.procs").read_text()), signal.SIGKILL)

    def ended() -> bool:
        try:
            side.slowness()
        except MachineError as error:
            return "relay has ended" in error.message
        return False

    wait_for(ended)


def test_a_way_to_the_router_that_the_quota_does_not_cover_is_refused(parts: ExitStack, tmp_path: Path) -> None:
    router = parts.enter_context(Namespace())
    with pytest.raises(MachineError, match="LONGLOOK_DATAPATH=tun does not allow"):
        slow_side(parts, tmp_path, router, TUN)


def test_a_sender_pays_for_the_receiving_kernel_here() -> None:
    assert receive_cost.charged_share() > 0.9


def test_a_kernel_that_charges_nobody_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receive_cost, "charged_share", lambda: 0.4)
    receive_cost.check_charged.cache_clear()
    with pytest.raises(MachineError, match="charges a program for 40% of the time") as caught:
        receive_cost.check_charged()
    assert caught.value.hint is not None
    assert "IRQ_TIME_ACCOUNTING" in caught.value.hint
