"""Page loads as HAR: what a strict reader accepts, and which time is in which phase."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from longlook.core import codec
from longlook.core.errors import InputError
from longlook.core.model import Outcome, Run, Trial
from longlook.lab.artefacts import write_json
from longlook.timeline.export import convert, har
from tests.data import trials
from tests.data.har import read_strictly
from tests.data.trials import connection, failed, fetched, packet, page, records, server_connection

IMAGE, OTHER = "/i/000.png", "/i/001.png"


def laid(
    folder: Path,
    lines: Sequence[Mapping[str, Any]],
    server: Sequence[Mapping[str, Any]] = (),
    trial: Trial = trials.TRIAL,
    run: Run = trials.RUN,
) -> Path:
    """The folder of a finished trial in which programs printed these lines."""
    folder.mkdir(exist_ok=True)
    trials.write_lines(folder / "client.jsonl", lines)
    trials.write_lines(folder / "server.jsonl", server)
    write_json(folder / "trial.json", trial)
    (folder / "run.json").write_text(json.dumps(codec.encode(run)))
    return folder


def exported(folder: Path) -> dict[str, Any]:
    out = folder.parent / "out.har"
    (written,) = convert(folder, "har", out)
    log = read_strictly(out)
    assert (written.count, written.what) == (len(log["entries"]), "requests")
    return log


def timings(log: Mapping[str, Any], path: str) -> dict[str, float]:
    (entry,) = [entry for entry in log["entries"] if entry["request"]["url"].endswith(path)]
    found: dict[str, float] = entry["timings"]
    return found


@pytest.fixture
def quic(tmp_path: Path) -> Path:
    """Two objects after the document, on a cold QUIC connection behind one that only obtained a ticket."""
    return laid(
        tmp_path / "quic",
        [
            connection(39000, 1, 20, primes=True),
            fetched("/prime", 1, 25, 26, size=1),
            connection(40000, 100, 120),
            fetched("/index.html", 100, 125, 130, size=173),
            fetched(IMAGE, 130, 150, 300, size=50_000),
            fetched(OTHER, 130, 151, 280, size=40_000),
        ],
    )


def test_a_load_has_a_page_and_an_entry_for_each_object(quic: Path) -> None:
    log = exported(quic)
    (loaded,) = log["pages"]
    assert loaded["startedDateTime"] == "2023-11-14T22:13:20.100000Z"
    assert loaded["pageTimings"] == {"onContentLoad": -1, "onLoad": 200.0}
    assert loaded["_longlook"]["trial"] == trials.TRIAL.id
    assert log["browser"] == {"name": "quic-go", "version": "v0"}
    first, *others = log["entries"]
    assert first["request"]["url"] == "https://www.example.test/index.html"
    assert first["response"]["content"] == {"size": 173, "mimeType": "text/html"}
    assert (first["serverIPAddress"], first["connection"], first["request"]["httpVersion"]) == (
        "10.8.0.2",
        "40000",
        "h3",
    )
    assert [entry["response"]["bodySize"] for entry in others] == [50_000, 40_000]


def test_the_connection_that_obtains_a_ticket_is_left_out(quic: Path) -> None:
    assert not [entry for entry in exported(quic)["entries"] if entry["request"]["url"].endswith("/prime")]


def test_the_first_request_connects_and_later_ones_find_the_connection_open(quic: Path) -> None:
    log = exported(quic)
    opening = {"blocked": 0, "dns": -1, "connect": 20, "ssl": 20, "send": 0, "wait": 5, "receive": 5}
    assert timings(log, "/index.html") == opening
    assert timings(log, IMAGE) == {
        "blocked": -1,
        "dns": -1,
        "connect": -1,
        "ssl": -1,
        "send": 0,
        "wait": 20,
        "receive": 150,
    }


def test_the_same_trial_gives_the_same_bytes(quic: Path, tmp_path: Path) -> None:
    exported(quic)
    before = (tmp_path / "out.har").read_bytes()
    exported(quic)
    assert (tmp_path / "out.har").read_bytes() == before


def test_requests_made_while_the_connection_opens_are_blocked(tmp_path: Path) -> None:
    lines = [connection(40000, 100, 120), fetched("/a", 100, 125, 130), fetched("/b", 100, 126, 140)]
    log = exported(laid(tmp_path / "trial", lines))
    assert [timings(log, path)["connect"] for path in ("/a", "/b")] == [20, -1]
    assert [timings(log, path)["blocked"] for path in ("/a", "/b")] == [0, 20]


def test_tls_over_tcp_begins_when_the_server_has_answered(tmp_path: Path) -> None:
    h2 = {"protocol": "h2"}
    folder = laid(tmp_path / "trial", [connection(40000, 100, 172, **h2), fetched("/index.html", 100, 210, 215, **h2)])
    tcp = {"ip_protocol": 6, "payload_bytes": 0, "size_bytes": 60}
    trials.write_link_log(
        folder / "link.bin", records([packet(101, 118, direction=0, **tcp), packet(120, 136, **tcp), packet(150, 171)])
    )
    found = timings(exported(folder), "/index.html")
    assert (found["connect"], found["ssl"], found["wait"]) == (72, 36, 38)


def test_without_the_links_record_the_share_of_tls_is_not_known(tmp_path: Path) -> None:
    h2 = {"protocol": "h2"}
    folder = laid(tmp_path / "trial", [connection(40000, 100, 172, **h2), fetched("/", 100, 210, 215, **h2)])
    found = timings(exported(folder), "/")
    assert (found["connect"], found["ssl"]) == (72, -1)


@pytest.mark.parametrize("knows", [True, False], ids=["client", "server alone"])
def test_early_data_waits_for_no_handshake(tmp_path: Path, *, knows: bool) -> None:
    state = {"resumed": True, "used_0rtt": True}
    own = state if knows else {"resumed": None, "used_0rtt": None}  # a browser does not know
    folder = laid(
        tmp_path / "trial",
        [connection(40000, 100, 135, **own), fetched("/a", 99, 136, 140), fetched("/b", 101, 137, 141)],
        [server_connection(40000, 118, **state)],
    )
    log = exported(folder)
    assert timings(log, "/a") == {
        "blocked": 1,
        "dns": -1,
        "connect": 0,
        "ssl": 0,
        "send": 0,
        "wait": 36,
        "receive": 4,
    }
    assert (timings(log, "/b")["blocked"], timings(log, "/b")["wait"]) == (-1, 36)
    assert log["entries"][0]["comment"].endswith("which took 35.000 ms")


def test_a_browsers_page_ends_with_its_load_event(tmp_path: Path) -> None:
    lines = [connection(40000, 101, 120), fetched("/index.html", 100, 125, 130), page(99.5, 125, 131.25)]
    (loaded,) = exported(laid(tmp_path / "trial", lines))["pages"]
    assert loaded["startedDateTime"] == "2023-11-14T22:13:20.099500Z"
    assert loaded["pageTimings"]["onLoad"] == 31.75


def test_several_connections_each_have_their_entries(tmp_path: Path) -> None:
    lines = [
        *(connection(port, 100, 120) for port in (40000, 40001)),
        *(
            fetched("/download.bin", 100, 125, end, local=f"10.8.0.1:{port}")
            for port, end in ((40000, 150), (40001, 170))
        ),
    ]
    log = exported(laid(tmp_path / "trial", lines))
    assert [(entry["connection"], entry["time"]) for entry in log["entries"]] == [("40000", 50), ("40001", 70)]
    assert [entry["timings"]["connect"] for entry in log["entries"]] == [20, 20]


def test_an_object_that_failed_is_there_with_its_reason(tmp_path: Path) -> None:
    lines = [
        connection(40000, 100, None),
        fetched("/index.html", 100, 125, 130) | {"t_end_ns": None, "bytes": None, "status": None, "error": "reset"},
        failed(IMAGE, 110, "connection lost"),
    ]
    run = trials.run(outcome=Outcome.FAILED, reason="index.html: reset")
    log = exported(laid(tmp_path / "trial", lines, run=run))
    assert log["pages"][0]["pageTimings"]["onLoad"] == -1
    assert log["pages"][0]["comment"] == "failed: index.html: reset"
    first, second = log["entries"]
    assert (first["response"]["status"], first["response"]["bodySize"], first["response"]["_error"]) == (0, -1, "reset")
    assert first["timings"]["connect"] == 25  # nothing says when it was secure: at its first byte at the latest
    assert (second["time"], second["comment"]) == (0, "failed: connection lost")
    assert second["request"]["url"] == f"https://www.example.test{IMAGE}"


def test_each_competing_flow_that_fetches_objects_is_a_page(tmp_path: Path) -> None:
    folder = laid(tmp_path / "trial", [], trial=trials.trial(flows=(competing("a"), competing("b"))))
    described = []
    for number, name in enumerate("ab"):
        own = {"client_address": f"10.8.0.{10 + number}", "server_address": f"10.8.0.{20 + number}"}
        times = {"began_unix_ns": trials.ms(90), "ended_unix_ns": trials.ms(300)}
        described.append({"name": name, "group": name, "cross": False, **own, "ended_by_itself": True, **times})
        (folder / "flows" / name).mkdir(parents=True)
        lines = [connection(40000, 100, 120), fetched("/1MB.bin", 100, 125, 150 + number)]
        trials.write_lines(folder / "flows" / name / "client.jsonl", lines if name == "a" else lines[:1])
    (folder / "flows.json").write_text(json.dumps(described))
    log = exported(folder)
    assert [loaded["id"] for loaded in log["pages"]] == [f"{trials.TRIAL.id}_a"]
    assert [entry["serverIPAddress"] for entry in log["entries"]] == ["10.8.0.20"]


def competing(name: str) -> Any:
    from longlook.core.model import ConnectionState, Endpoint, Flow

    ends = {"server": Endpoint("quic-go", "v0"), "client": Endpoint("quic-go", "v0")}
    return Flow(name, name, False, 0, 0.0, 1_000_000, "h3", ConnectionState.COLD, None, None, **ends)


def test_what_is_no_page_load_is_refused(tmp_path: Path) -> None:
    folder = laid(tmp_path / "trial", [connection(40000, 100, 120)])
    with pytest.raises(InputError, match="reported no object"):
        convert(folder, "har", tmp_path / "out.har")
    with pytest.raises(InputError, match="has no page load to make a HAR of"):
        convert(folder / "client.jsonl", "har", tmp_path / "out.har")
    with pytest.raises(InputError, match=r"is no trial: it has no trial\.json"):
        convert(tmp_path, "har", tmp_path / "out.har")
    (folder / "run.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        convert(folder, "har", tmp_path / "out.har")


def test_a_place_that_cannot_be_written_is_reported_and_nothing_stays(quic: Path, tmp_path: Path) -> None:
    made = har.trial_har(quic)
    assert made is not None
    with pytest.raises(InputError, match="cannot be written"):
        har.write(made, quic)
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".new")]
