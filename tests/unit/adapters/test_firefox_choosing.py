"""What Firefox's driver makes of loads for which the browser chose: jobs, events and connections, without a browser."""

import asyncio
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from longlook.core.paths import adapters_dir

ORIGIN = "https://www.example.test"


@pytest.fixture(autouse=True)
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = set(sys.modules)
    for name in ("lib/python", "firefox"):
        monkeypatch.syspath_prepend(str(adapters_dir() / name))
    yield
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("longlook_adapter", "firefox_driver"):
            del sys.modules[name]


def job(memory: str) -> Any:
    line = {
        "protocol": "h3-or-h2",
        "connection": "cold",
        "address": "10.8.0.2",
        "port": 443,
        "phases": [["/index.html"], ["/a.png"]],
        "knobs": {"memory": memory},
        "timeout_s": 60.0,
    }
    parse = import_module("longlook_adapter.browserjob").parse_job
    return parse(json.dumps(line), "Firefox", ("cold",), ("h3", "h2", "h3-or-h2"))


def loaded(*exchanges: tuple[str, str, int | None, str | None]) -> Any:
    """A load of (path, protocol, when its connection was begun, local address)."""
    recorder = import_module("firefox_driver.recorder")
    load = import_module("firefox_driver.report").Load(f"{ORIGIN}/index.html", recorder.Recorder("tab"))
    for number, (path, protocol, t_connect_ns, local) in enumerate(exchanges):
        load.recorder.exchanges[str(number)] = recorder.Exchange(
            ORIGIN + path,
            t_start_ns=1,
            t_connect_ns=t_connect_ns,
            t_secure_ns=None if t_connect_ns is None else t_connect_ns + 1,
            t_end_ns=2,
            protocol=protocol,
            status=200,
            bytes=1,
            alt_svc='h3=":443"' if protocol == "h2" else None,
            local=local,
        )
    return load


def done(memory: str, *loads: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[bool, list[str]]:
    """Do a job whose loads end so; whether all arrived, and what was asked of the browser."""
    choosing = import_module("firefox_driver.choosing")
    monkeypatch.setattr(choosing, "TRIAL_S", 0.0)
    monkeypatch.setattr(choosing, "READING_S", 0.0)
    asked: list[str] = []
    left = iter(loads)

    async def load(url: str, _limit_s: float) -> Any:
        asked.append(url.removeprefix(ORIGIN))
        return next(left)

    async def leave() -> None:
        asked.append("leave")

    async def read_paints(load: Any) -> None:
        load.t_first_contentful_paint_ns = 3

    ok = asyncio.run(choosing.run(choosing.Context(load, leave, read_paints), job(memory), ORIGIN))
    return ok, asked


def lines(capsys: pytest.CaptureFixture[str], event: str) -> list[dict[str, Any]]:
    found = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    return [line for line in found if line["event"] == event]


PRIME = ("/prime", "h2", 5, "10.8.0.1:1")
FIRST = (("/index.html", "h2", 5, "10.8.0.1:1"), ("/a.png", "h3", 7, "10.8.0.1:2"))


@pytest.mark.parametrize(
    ("memory", "earlier", "asked"),
    [
        ("none", [], []),
        ("alt-svc", [[PRIME]], ["/prime", "leave"]),
        ("page", [[PRIME], FIRST], ["/prime", "leave", "/index.html", "leave"]),
    ],
)
def test_what_is_to_be_remembered_is_loaded_before_and_left(
    memory: str, earlier: list[Any], asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = [*(loaded(*each) for each in earlier), loaded(*FIRST)]
    assert done(memory, *loads, monkeypatch=monkeypatch) == (True, [*asked, "/index.html"])


def test_each_socket_that_carried_something_is_a_connection(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert done("alt-svc", loaded(PRIME), loaded(*FIRST), monkeypatch=monkeypatch)[0]
    found = lines(capsys, "connection")
    assert [(line["protocol"], line["local"], line["primes"], line["t_start_ns"]) for line in found] == [
        ("h2", "10.8.0.1:1", True, 5),
        ("h2", "10.8.0.1:1", False, 5),
        ("h3", "10.8.0.1:2", False, 7),
    ]
    assert all(line["resumed"] is None for line in found)


def test_a_connection_whose_times_are_not_known_has_a_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = loaded(("/index.html", "h3", None, "10.8.0.1:3"), ("/a.png", "h3", None, "10.8.0.1:3"))
    assert done("none", tried, monkeypatch=monkeypatch)[0]
    (line,) = lines(capsys, "connection")
    assert (line["t_start_ns"], line["t_handshake_ns"], line["resumed"]) == (None, None, False)


def test_a_server_that_names_no_quic_cannot_be_remembered_for_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    silent = loaded(PRIME)
    silent.recorder.exchanges["0"].alt_svc = None
    assert done("alt-svc", silent, monkeypatch=monkeypatch)[0] is False
    errors = {line["error"] for line in lines(capsys, "object")}
    assert errors == {
        "priming failed: the answer has no Alt-Svc header, so that QUIC stays unknown: "
        "set the server's knob alt_svc_port"
    }


def test_the_header_of_an_answer_is_read_whatever_its_case() -> None:
    recorder = import_module("firefox_driver.recorder").Recorder("tab")
    request = {"request": "1", "url": f"{ORIGIN}/prime", "timings": {"requestTime": 1.5}}
    headers = [{"name": "Alt-Svc", "value": {"type": "string", "value": 'h3=":443"'}}]
    response = {"protocol": "h2", "status": 200, "bodySize": 3, "headers": headers}
    event = {"context": "tab", "request": request, "redirectCount": 0}
    recorder.on_event("network.beforeRequestSent", event)
    recorder.on_event("network.responseCompleted", {**event, "response": response})
    (exchange,) = recorder.exchanges.values()
    assert (exchange.alt_svc, exchange.protocol, recorder.in_flight) == ('h3=":443"', "h2", set())
