"""Loads over two links, with a router or a proxy between them."""

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.core.model import Endpoint, Link, Stage, Trial
from longlook.explain.ledger import BEHIND_PROXY, Ledger, LedgerClass, make_ledger
from tests.data.scenes import QUIC, TCP, Scene, ns

BEHIND_MS = 5.0
OF_PROXY = "udp 10.8.255.1:50000 10.8.0.2:443"


class Path(Scene):
    """A scene whose middle is `BEHIND_MS` from the server; a packet takes 1 ms at 10 Mbit/s behind it, too."""

    proxied = False

    def behind(self, way: str, at_ms: float, size: int = 1250, **columns: Any) -> float:
        """A packet over the link behind the middle; returns when it leaves it."""
        left = at_ms + (size * 8e3 / 10_000_000 if way == "down" else 0.0) + BEHIND_MS
        flow = OF_PROXY if self.proxied else self.flow
        self._packet(way, at_ms, left, size, vantage="behind", value=0.0, **{"flow": flow, **columns})
        return left

    @property
    def whole(self) -> Trial:
        """The trial over both links."""
        delay = Stage("delay", {"delay_ns": ns(BEHIND_MS)})
        link = Link((delay,), (Stage("rate", {"rate_bps": 10_000_000, "queue_bytes": 10**9}), delay))
        proxy = Endpoint("envoy", "1.39.3") if self.proxied else None
        return replace(self.trial, further={"behind": link}, proxy=proxy)

    def ledger(self) -> Ledger:
        """The ledger, in which nothing of the load is missing."""
        timeline = self.timeline()
        found, window = make_ledger(timeline, self.whole), timeline.load_window_ns()
        assert found is not None
        assert window is not None
        assert sum(found.totals().values()) == window[1] - window[0]
        return found


def routed(packets: int) -> Path:
    """A request of 10 + 5 ms, and an answer of which each packet waits for the acknowledgement of the one before."""
    path = Path()
    sent = path.behind("up", path.up(0.0), 128)
    arrivals = []
    for _ in range(packets):
        arrivals.append(path.down(path.behind("down", sent)))
        sent = path.behind("up", path.acknowledge(arrivals[-1]), 60)
    path.fetched(0.0, arrivals[0], arrivals[-1])
    return path


def ms(ledger: Ledger, name: LedgerClass) -> dict[str | None, float]:
    return {detail: lasts_ns / ns(1.0) for detail, lasts_ns in ledger.details(name).items()}


def test_what_the_link_behind_the_middle_serves_is_served_time_of_its_own() -> None:
    ledger = routed(3).ledger()
    useful = ms(ledger, LedgerClass.LINK_USEFUL)
    assert useful["behind the middle"] == pytest.approx(3 * 0.9624, abs=0.01)
    assert useful[None] == pytest.approx(3 * 0.9624, abs=0.01)


def test_behind_a_router_a_gap_is_what_the_server_waits_for_over_both_links() -> None:
    waits = ms(routed(3).ledger(), LedgerClass.CONGESTION_WINDOW)
    assert sum(waits.values()) == pytest.approx(2 * 2 * (10.0 + BEHIND_MS), abs=0.1)  # two round trips without a queue
    assert all(not str(detail).startswith("the proxy") for detail in waits)


def test_the_request_is_on_its_way_over_both_links() -> None:
    requests = ms(routed(1).ledger(), LedgerClass.REQUEST)
    assert sum(requests.values()) == pytest.approx(10.0 + 2 * BEHIND_MS, abs=0.1)  # and its answer to the middle


def proxied(*, early: float | None = None) -> Path:
    """A client asks a proxy, which opens a connection of one round trip first, or has had one since `early`."""
    path = Path()
    path.proxied = True
    at = path.up(0.0)
    if early is None:
        secure = path.behind("down", path.behind("up", at, quic="initial"), 1250, quic="handshake")
        at = path.behind("up", secure, 200, quic="handshake")  # which holds the request as well
    else:
        path.behind("up", early, 128)
        at = path.behind("up", at, 128)
    arrived = path.down(path.behind("down", at))
    path.fetched(0.0, arrived, arrived)
    return path


def test_a_proxy_that_connects_first_is_at_a_handshake() -> None:
    details = ms(proxied().ledger(), LedgerClass.HANDSHAKE)
    assert list(details) == [f"{BEHIND_PROXY}: round trips"]
    assert sum(details.values()) == pytest.approx(2 * BEHIND_MS + 1.0, abs=0.1)


def test_a_proxy_with_an_open_connection_is_at_none() -> None:
    assert LedgerClass.HANDSHAKE not in proxied(early=-50.0).ledger().totals()


def test_a_proxy_that_has_the_data_and_waits_for_the_client_is_the_sender() -> None:
    path = Path()
    path.proxied = True
    at = path.behind("up", path.up(0.0), 128)
    had = [path.behind("down", at + number) for number in range(2)]
    first = path.down(had[0])
    acknowledged = path.acknowledge(first)  # it has had the second packet for long
    arrived = path.down(acknowledged)
    path.fetched(0.0, first, arrived)
    waits = ms(path.ledger(), LedgerClass.CONGESTION_WINDOW)
    assert waits == {"the proxy: rule: it sends when acknowledged": pytest.approx(20.0, abs=0.1)}


def test_a_proxy_that_passes_on_what_comes_is_not_what_waits() -> None:
    path = Path()
    path.proxied = True
    at = path.behind("up", path.up(0.0), 128)
    first = path.down(path.behind("down", at))
    arrived = path.down(path.behind("down", at + 40.0))
    path.fetched(0.0, first, arrived)
    ledger = path.ledger()
    everything = [detail for name in LedgerClass for detail in ledger.details(name)]
    assert not any(str(detail).startswith("the proxy") for detail in everything)


def test_tls_through_a_proxy_of_tcp_is_a_handshake_over_both_links() -> None:
    path = Path(flow=TCP)
    path.proxied = True
    own = TCP.replace("10.8.0.1", "10.8.255.1")
    sent = path.behind("up", path.up(0.0, 60), 300, flow=own)
    secure = path.down(path.behind("down", sent, flow=own))
    path.opened(0.0, secure)
    request = path.behind("up", path.up(secure), 128, flow=own)
    arrived = path.down(path.behind("down", request, flow=own))
    path.fetched(0.0, arrived, arrived)
    details = ms(path.ledger(), LedgerClass.HANDSHAKE)
    assert details == {"round trips": pytest.approx(secure, abs=0.1)}


def test_without_packets_behind_the_middle_it_is_the_ledger_of_one_link() -> None:
    path = Path(flow=QUIC)
    path.up(0.0)
    arrived = path.down(20.0)
    path.fetched(0.0, arrived, arrived)
    one = make_ledger(path.timeline(), path.trial)
    assert one is not None
    assert path.ledger().totals() == one.totals()


@settings(max_examples=100)
@given(st.integers(0, 2**32), st.booleans())
def test_every_nanosecond_of_any_load_over_two_links_has_one_class(seed: int, through_proxy: bool) -> None:
    draw, path = random.Random(seed), Path(flow=random.Random(seed).choice((QUIC, TCP)))
    path.proxied = through_proxy
    for _ in range(draw.randrange(1, 40)):
        at, size = round(draw.uniform(-20.0, 150.0), 1), draw.choice((60, 128, 1250))
        form = None if path.flow == TCP else draw.choice(("short", "initial", "handshake", "0rtt"))
        named = draw.choice((OF_PROXY, path.flow, TCP))
        add = draw.choice((path.up, path.down, path.drop, "up", "down"))
        if isinstance(add, str):
            path.behind(add, at, size, quic=form, flow=named, priming=at < 0)
        else:
            add(at, size, quic=form)
    for number in range(draw.randrange(1, 4)):
        asked, first, done = sorted(draw.uniform(0.0, 160.0) for _ in range(3))
        path.fetched(asked, first, done, f"/{number}")
    timeline = path.timeline()
    found, window = make_ledger(timeline, path.whole), timeline.load_window_ns()
    if found is not None:
        assert window is not None
        assert sum(found.totals().values()) == window[1] - window[0]
