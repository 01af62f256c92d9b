"""Objects of a load: their moments at client, server and bottleneck, and which of them were on the critical path."""

from longlook.explain.facts import NEVER
from longlook.explain.facts.objects import ObjectFacts, OpeningFacts
from tests.data.scenes import DELAY_MS, TCP, Scene, ns


def objects(scene: Scene) -> ObjectFacts:
    return ObjectFacts.of(scene.timeline(), scene.trial)


def test_an_object_has_the_moments_of_its_packets() -> None:
    scene = Scene()
    scene.opened(0.0, 5.0)
    scene.up(2.0)  # before the handshake is done: not the request
    scene.up(6.0)
    first, done = scene.down(20.0), scene.down(20.0)
    scene.fetched(0.0, first, done, size=2400)
    found = objects(scene)
    assert found.path == ("/download.bin",)
    assert found.asked_ns[0] == 0
    assert (found.request_sent_ns[0], found.request_arrived_ns[0]) == (ns(6.0), ns(6.0 + DELAY_MS))
    assert (found.answered_ns[0], found.served_ns[0], found.done_ns[0]) == (ns(20.0), ns(22.0), ns(done))
    assert found.size_bytes[0] == 2400


def test_a_request_that_is_lost_arrives_with_the_next() -> None:
    scene = Scene()
    scene.drop(0.0, 128, "up")
    scene.up(50.0)
    done = scene.down(60.0)
    scene.fetched(0.0, done, done)
    found = objects(scene)
    assert (found.request_sent_ns[0], found.request_arrived_ns[0]) == (0, ns(60.0))


def test_the_same_path_over_two_connections_is_two_objects() -> None:
    scene = Scene()
    scene.up(0.0)
    done = scene.down(10.0)
    scene.fetched(0.0, done, done)
    scene.flow = TCP
    scene.fetched(1.0, done + 5, done + 6)
    found = objects(scene)
    assert found.path == ("/download.bin", "/download.bin")
    assert found.done_ns.tolist() == [ns(done), ns(done + 6)]


def test_an_object_that_never_ended_is_left_out_and_one_that_failed_is_not() -> None:
    scene = Scene()
    scene.client(0.0, "request_sent", name="/lost", flow=scene.flow)
    scene.client(0.0, "request_sent", name="/failed", flow=scene.flow)
    scene.client(70.0, "object_failed", name="/failed", flow=scene.flow)
    found = objects(scene)
    assert found.path == ("/failed",)
    assert found.done_ns[0] == ns(70.0)
    assert (found.answered_ns < NEVER).all()


def test_the_critical_path_goes_back_from_the_last_object_to_what_it_waited_for() -> None:
    scene = Scene()
    for path, asked, done in (("/index", 0, 10), ("/style", 11, 20), ("/logo", 11, 30), ("/font", 21, 40)):
        scene.fetched(float(asked), float(done), float(done), path)
    found = objects(scene)
    assert dict(zip(found.path, found.critical.tolist(), strict=True)) == {
        "/index": True,
        "/style": True,
        "/logo": False,
        "/font": True,
    }


def test_a_client_that_does_not_report_its_handshake_is_ready_with_its_second_flight() -> None:
    scene = Scene(flow=TCP)
    scene.client(0.0, "connection_started", flow=TCP)
    told = scene.down(scene.up(0.0, 500))
    scene.up(told + 1.0, 300)
    assert OpeningFacts.of(scene.timeline(), scene.trial) == OpeningFacts(0, ns(told + 1.0))
    scene = Scene()
    scene.client(0.0, "connection_started", flow=scene.flow)
    scene.up(0.0, 1250, quic="initial")
    scene.up(30.0)
    assert OpeningFacts.of(scene.timeline(), scene.trial) == OpeningFacts(0, ns(30.0))


def test_a_load_on_a_connection_that_was_there_before_has_no_opening() -> None:
    scene = Scene()
    scene.up(0.0)
    assert OpeningFacts.of(scene.timeline(), scene.trial) is None
