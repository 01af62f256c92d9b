"""An image is a version of the stack `image`, and starts by the contract of the QUIC interop runner."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longlook.core import ClientJob, ConnectionState, InputError, Program, registry
from longlook.core.job import Identity
from longlook.core.stack import ServerJob
from longlook.provision.images.record import RECORD, image_folder
from longlook.provision.images.stack import TEST_CASES, image_client, image_server
from longlook.provision.setup import spelt_out
from longlook.provision.sources.resolve import is_sources, parse_program
from longlook.study.catalogue import parse_side
from tests.support.images import Entry, folder, of, write_saved

IMAGE = of(Entry("var/x", b"1"), folder("w"), config={"Cmd": ["/run_endpoint.sh"], "Env": ["A=1"], "WorkingDir": "/w"})


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    write_saved(tmp_path / "a.tar", IMAGE, of(names=("x:latest",)))


def test_an_image_stands_where_a_version_stands(tmp_path: Path) -> None:
    write_saved(tmp_path / "b.tar", IMAGE)
    name = f"image@b-{IMAGE.identity[:7]}"
    assert is_sources("image:./b.tar")
    assert not is_sources("image@b")
    assert spelt_out(["image:./b.tar"]) == [name]
    assert parse_side("image:./b.tar", "h3").name == name
    assert parse_side("image:./a.tar#x:latest", "h3").stack == "image"
    stack, version = parse_program("image:b.tar".replace(":", ":./"), tmp_path)
    assert stack.version(version).released == "2026-01-02"
    assert (stack.is_installed(version), stack.knobs_of(version, "server")) == (True, {})
    assert stack.program(version).digest == IMAGE.identity


def test_an_image_has_to_be_named() -> None:
    for text in ("image", "image@nothing", "image:a.tar"):
        with pytest.raises(InputError) as raised:
            stack, version = parse_program(text)
            stack.program(version)
        assert "./" in (raised.value.hint or "")


def test_a_server_is_started_by_the_interop_runners_contract(tmp_path: Path) -> None:
    write_saved(tmp_path / "b.tar", IMAGE)
    parse_program("image:./b.tar")
    file = image_folder(IMAGE.identity) / RECORD
    identity = Identity("www.example.test", "/t/ca.pem", "/t/leaf.pem", "/t/leaf.key", "")
    command = image_server(Program(str(file), ""), ServerJob("h3", "198.18.0.2", 443, "/w/www", identity, {}))
    assert command.argv == ("/run_endpoint.sh",)
    assert {name: command.env[name] for name in ("A", "ROLE", "TESTCASE")} == {
        "A": "1",
        "ROLE": "server",
        "TESTCASE": "http3",
    }
    root = command.root
    assert root is not None
    assert (root.folder, root.begins_in) == (str(file.with_name("root")), "w")
    assert root.shown == {
        "www": "/w/www",
        "certs/cert.pem": "/t/leaf.pem",
        "certs/priv.key": "/t/leaf.key",
        "certs/ca.pem": "/t/ca.pem",
    }
    for name in ("server", "server4", "server6", "sim", "www.example.test"):
        assert f"198.18.0.2 {name}\n" in root.texts["etc/hosts"]
    assert {"setup.sh", "wait-for-it.sh"} < set(root.texts)
    assert (set(root.writable), root.results) == ({"w", "var", "logs", "tmp"}, "downloads")


IDENTITY = Identity("www.example.test", "/t/ca.pem", "/t/leaf.pem", "/t/leaf.key", "")
JOB = ClientJob("h3", ConnectionState.COLD, "198.18.0.2", 443, (("/a.bin", "/b.bin"),), IDENTITY, {}, 60.0)


def test_a_client_is_started_by_the_interop_runners_contract(tmp_path: Path) -> None:
    write_saved(tmp_path / "b.tar", IMAGE)
    parse_program("image:./b.tar")
    program = Program(str(image_folder(IMAGE.identity) / RECORD), "")
    command = image_client(program, JOB)
    assert {name: command.env[name] for name in ("A", "ROLE", "TESTCASE", "REQUESTS")} == {
        "A": "1",
        "ROLE": "client",
        "TESTCASE": "http3",
        "REQUESTS": "https://server4:443/a.bin https://server4:443/b.bin",
    }
    root = command.root
    assert root is not None
    assert (set(root.shown), root.results) == ({"certs/cert.pem", "certs/priv.key", "certs/ca.pem"}, "downloads")
    assert "198.18.0.2 server4\n" in root.texts["etc/hosts"]


@pytest.mark.parametrize(
    ("state", "test_case"),
    [
        (ConnectionState.COLD, "transfer"),
        (ConnectionState.RESUMED, "resumption"),
        (ConnectionState.ZERO_RTT, "zerortt"),
    ],
)
def test_states_of_connections_are_test_cases(tmp_path: Path, state: ConnectionState, test_case: str) -> None:
    write_saved(tmp_path / "b.tar", IMAGE)
    parse_program("image:./b.tar")
    program = Program(str(image_folder(IMAGE.identity) / RECORD), "")
    client = image_client(program, replace(JOB, protocol="hq-interop", connection=state))
    served = ServerJob("hq-interop", "198.18.0.2", 443, "/w/www", IDENTITY, {}, state)
    assert {each.env["TESTCASE"] for each in (client, image_server(program, served))} == {test_case}
    primes = client.env["REQUESTS"].startswith("https://server4:443/prime https://server4:443/a.bin ")
    assert primes is (state is not ConnectionState.COLD)


@pytest.mark.parametrize(
    "changes",
    [{"phases": (("/a",), ("/b",))}, {"waits_s": (1.0,)}, {"connections": 2}, {"video": {"quality": "x"}}],
)
def test_a_load_with_an_order_is_no_job_of_a_client(tmp_path: Path, changes: dict[str, Any]) -> None:
    write_saved(tmp_path / "b.tar", IMAGE)
    parse_program("image:./b.tar")
    with pytest.raises(InputError, match="asks for all files at once"):
        image_client(Program(str(image_folder(IMAGE.identity) / RECORD), ""), replace(JOB, **changes))


def test_an_image_has_a_test_case_for_each_connection_that_it_declares(tmp_path: Path) -> None:
    stack = registry.stack("image")
    assert (stack.roles, stack.version_names) == (("server", "client"), ())
    version = f"b-{IMAGE.identity[:7]}"
    write_saved(tmp_path / "b.tar", IMAGE)
    parse_program("image:./b.tar")
    states = {name: set(stack.connections_of(version, name)) for name in stack.protocols}
    assert states == {"h3": {ConnectionState.COLD}, "hq-interop": set(ConnectionState)}
    assert TEST_CASES.keys() == {(name, state) for name, found in states.items() for state in found}
