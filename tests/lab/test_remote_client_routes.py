"""The way from other machines to the link: what it leaves on this one, and where it cannot be made."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from longlook.core.errors import MachineError
from longlook.lab.linux.namespace import CurrentNamespace, Namespace
from longlook.lab.remote_client_routes import WayIn, namespace_outside
from longlook.lab.topology import PACKET

pytestmark = pytest.mark.lab


@pytest.fixture
def machine() -> Iterator[Namespace]:
    """A namespace that stands for this machine, with a device that forwards."""
    with Namespace() as namespace:
        namespace.netlink.link("add", ifname="wlan0", kind="veth", peer={"ifname": "wlan1"})
        namespace.netlink.link("set", index=namespace.index("wlan0"), state="up")
        with namespace.inside():
            Path("/proc/sys/net/ipv4/conf/wlan0/forwarding").write_text("1")
        yield namespace


@pytest.fixture
def ways(machine: Namespace) -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def open_way(machine: Namespace, ways: ExitStack) -> WayIn:
    router = ways.enter_context(Namespace())
    return ways.enter_context(WayIn(router, PACKET, namespace_outside(machine.descriptor)))


def seen(machine: Namespace) -> tuple[bool, bool]:
    """Whether the machine has the way's device, and its route."""
    with machine.inside():
        here = CurrentNamespace()
    try:
        routes = [route.get_attr("RTA_DST") for route in here.netlink.get_routes(family=2, table=254)]
        return bool(here.netlink.link_lookup(ifname="ll-phone")), "198.18.0.2" in routes
    finally:
        here.close()


def test_a_way_is_a_device_and_a_route_and_both_go_with_it(machine: Namespace, ways: ExitStack) -> None:
    way = open_way(machine, ways)
    assert seen(machine) == (True, True)
    assert way.drops() == 0
    ways.close()
    assert seen(machine) == (False, False)


def test_a_second_way_is_refused_and_the_first_stays(machine: Namespace, ways: ExitStack) -> None:
    open_way(machine, ways)
    with pytest.raises(MachineError, match=r"has a route to 198\.18\.0\.2/32 already"):
        open_way(machine, ways)
    assert seen(machine) == (True, True)


def test_a_network_that_has_the_servers_address_is_named(machine: Namespace, ways: ExitStack) -> None:
    machine.netlink.addr("add", index=machine.index("wlan0"), address="198.18.3.4", prefixlen=16)
    with pytest.raises(MachineError, match=r"has a route to 198\.18\.0\.0/16 already"):
        open_way(machine, ways)
    assert seen(machine) == (False, False)


def test_a_machine_that_forwards_for_nobody_is_refused_with_the_command(machine: Namespace, ways: ExitStack) -> None:
    with machine.inside():
        Path("/proc/sys/net/ipv4/conf/wlan0/forwarding").write_text("0")
    with pytest.raises(MachineError, match="forwards for nobody") as caught:
        open_way(machine, ways)
    assert caught.value.hint is not None
    assert "sysctl -w net.ipv4.conf.DEVICE.forwarding=1" in caught.value.hint


def test_a_guest_has_no_way_out() -> None:
    with pytest.raises(MachineError, match="a guest has no way out"):
        namespace_outside(None)
