"""`longlook link` on a host with a network farther out: who is reached, and what is forwarded for how long."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from longlook.lab.linux.namespace import Namespace
from tests.support.link_host import CONNECT_MS, LONGLOOK, PYTHON, LinkHost, reaper_of, wait_for, wait_until_open

pytestmark = [pytest.mark.lab, pytest.mark.realtime]


@pytest.fixture
def beyond(host: LinkHost, tmp_path: Path) -> Iterator[LinkHost]:
    """A network farther out, with a server at 10.1.1.1 that knows no way to a link's client."""
    with Namespace() as namespace:
        host.namespace.netlink.link(
            "add", ifname="up0", kind="veth", peer={"ifname": "net0", "net_ns_fd": namespace.descriptor}
        )
        for here, device, address in ((host.namespace, "up0", "10.1.1.2"), (namespace, "net0", "10.1.1.1")):
            index = here.index(device)
            here.netlink.addr("add", index=index, address=address, prefixlen=24)
            here.netlink.link("set", index=index, state="up")
        host.namespace.netlink.route("add", dst="default", gateway="10.1.1.1")
        far = LinkHost(namespace, tmp_path)
        with far.serving(tmp_path):
            yield far
        host.namespace.netlink.link("del", index=host.namespace.index("up0"))


def forwards(host: LinkHost) -> bool:
    with host.namespace.inside():
        return Path("/proc/sys/net/ipv4/conf/up0/forwarding").read_text() == "1\n"


def test_servers_beyond_are_reached_with_the_hosts_address(host: LinkHost, beyond: LinkHost) -> None:
    done = host.link("--rtt", "20ms", "--", PYTHON, "-c", CONNECT_MS, "10.1.1.1")
    assert done.returncode == 0, done.stderr
    assert 20.0 <= float(done.stdout) < 40.0
    assert "while the link is open, up0 forwards, for links alone" in done.stderr
    assert not forwards(host)


def test_forwarding_lasts_as_long_as_any_link_needs_it(host: LinkHost, beyond: LinkHost) -> None:
    first = host.start(LONGLOOK, "link", "--", "sleep", "100")
    wait_until_open(host)
    done = host.link("--", PYTHON, "-c", CONNECT_MS, "10.1.1.1")
    assert done.returncode == 0, done.stderr
    assert forwards(host)
    os.kill(reaper_of(first.pid), signal.SIGKILL)
    first.kill()
    wait_for(lambda: first.poll() is not None)
    assert forwards(host)
    assert host.link("--", "true").returncode == 0
    assert not forwards(host)
    first.communicate(timeout=5)


def test_a_host_that_forwards_for_links_is_no_router_for_its_neighbours(host: LinkHost, beyond: LinkHost) -> None:
    with Namespace() as other:
        host.namespace.netlink.link(
            "add", ifname="lan0", kind="veth", peer={"ifname": "net0", "net_ns_fd": other.descriptor}
        )
        for here, device, address in ((host.namespace, "lan0", "10.2.2.1"), (other, "net0", "10.2.2.2")):
            here.netlink.addr("add", index=here.index(device), address=address, prefixlen=24)
            here.netlink.link("set", index=here.index(device), state="up")
        beyond.namespace.netlink.route("add", dst="10.2.2.0/24", gateway="10.1.1.2")
        with other.inside():
            receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with beyond.namespace.inside():
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with receiver, sender:
            receiver.bind(("10.2.2.2", 9))
            receiver.settimeout(0.5)
            first = host.start(LONGLOOK, "link", "--", "sleep", "100")
            wait_until_open(host)
            assert forwards(host)
            sender.sendto(b"through", ("10.2.2.2", 9))
            with pytest.raises(TimeoutError):
                receiver.recv(100)
            first.terminate()
            first.communicate(timeout=20)
            assert not forwards(host)
            with host.namespace.inside():  # what would have happened
                Path("/proc/sys/net/ipv4/conf/up0/forwarding").write_text("1")
            sender.sendto(b"through", ("10.2.2.2", 9))
            assert receiver.recv(100) == b"through"
        host.namespace.netlink.link("del", index=host.namespace.index("lan0"))
