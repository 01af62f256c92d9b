"""A container image as a client: as quick as its program, whatever else it does, and judged by what it leaves."""

from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core import ConnectionState, Endpoint, Outcome, Workload
from longlook.engines.choice import make_engine
from longlook.instruments.conformance.checks import Want
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.links import path
from longlook.instruments.conformance.runner import run_wants
from tests.support.command_line import longlook
from tests.support.image_programs import image_of_nginx, image_of_quic_go

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]
PROGRAM = "quic-go@0.65.0"
START = b"""#!/bin/sh
/setup.sh && /wait-for-it.sh sim:57832 -s -t 30 || exit 3
test "$ROLE" = client || exit 127
echo "a line for people"
echo '{"level": "info"}'
/endpoint
"""
FILES = Workload("download", {"objects": 2, "object_bytes": 200_000})


def seen(client: str, out: Path, **changes: object) -> Seen:
    server, end = (Endpoint(*each.split("@")) for each in (PROGRAM, client))
    want = replace(Want("h3", path(10, 0.036), FILES, server, end, timeout_s=5.0), **changes)  # type: ignore[arg-type]
    with make_engine("virtual") as engine:
        found = run_wants([want], engine, out, lambda _text: None, use_cache=False)[want.trial().id]
    assert isinstance(found, Seen), found
    return found


def load_ns(found: Seen) -> int:
    lines = found.events("client", "object") or [line for line in found.load if line["event"] == "load"]
    return max(int(line["t_end_ns"]) for line in lines) - min(int(line["t_start_ns"]) for line in lines)


def test_an_image_is_a_client_as_quick_as_its_program(tmp_path: Path) -> None:
    client = image_of_quic_go(tmp_path / "a.tar", START)
    image, program = seen(client, tmp_path / "image"), seen(PROGRAM, tmp_path / "program")
    assert image.ok, image.why
    assert program.ok, program.why
    assert abs(load_ns(image) - load_ns(program)) < 200_000
    assert load_ns(seen(client, tmp_path / "again")) == load_ns(image)
    assert not program.load, "a client that prints lines is measured by them"


@pytest.mark.parametrize(
    ("start", "outcome", "says"),
    [
        (
            "/endpoint && WWW=/downloads ROLE=server exec /endpoint",
            Outcome.TIMED_OUT,
            "the client hung: it did not end",
        ),
        ("exit 0", Outcome.FAILED, "/download.bin: the client left no such file"),
        ("/endpoint && echo wrong > /downloads/download.bin", Outcome.FAILED, "/download.bin: wrong body"),
        (
            f"x=0123456789abcdef; {'x=$x$x; ' * 12}while echo $x; do :; done > /downloads/a",
            Outcome.FAILED,
            "filled its",
        ),
        ("exit 127", Outcome.UNSUPPORTED, "does not support this"),
        ("no_such_program", Outcome.UNSUPPORTED, "not found"),
        ("echo 'no route'; exit 1", Outcome.FAILED, "its output: no route"),
    ],
)
def test_what_a_client_does_wrong_is_said(tmp_path: Path, start: str, outcome: Outcome, says: str) -> None:
    found = seen(image_of_quic_go(tmp_path / "a.tar", f"#!/bin/sh\n{start}\n".encode()), tmp_path / "run")
    assert (found.run.outcome, says in (found.run.reason or "")) == (outcome, True), found.why


def test_two_images_that_print_no_line_are_proven_by_the_link(tmp_path: Path) -> None:
    client, server = image_of_quic_go(tmp_path / "a.tar", START), image_of_nginx(tmp_path / "nginx.tar")
    image = seen(client, tmp_path / "image", server=Endpoint(*server.split("@")))
    program = seen(client, tmp_path / "program", server=Endpoint("nginx", "1.26.3"))
    for found in (image, program):
        assert found.ok, found.why
    assert not image.events("server", "connection")
    assert abs(load_ns(image) - load_ns(program)) < 500_000


@pytest.mark.parametrize("state", list(ConnectionState))
def test_states_of_connections_are_those_of_the_program(tmp_path: Path, state: ConnectionState) -> None:
    name = image_of_quic_go(tmp_path / "a.tar", b"#!/bin/sh\nexec /endpoint\n")
    image, declared = Endpoint(*name.split("@")), {"protocol": "hq-interop", "connection": state}
    client, both = seen(name, tmp_path / "client", **declared), seen(name, tmp_path / "both", server=image, **declared)
    for found in (client, both):
        assert found.ok, found.why
    assert abs(load_ns(client) - load_ns(both)) < 500_000
    primed = [line["primes"] for line in client.load if line["event"] == "flow"]
    assert primed == ([False] if state is ConnectionState.COLD else [True, False])


def test_a_client_is_checked_and_a_role_that_it_lacks_does_not_apply(tmp_path: Path) -> None:
    image_of_quic_go(tmp_path / "a.tar", START)
    answer = longlook("stacks", "check", f"image:{tmp_path / 'a.tar'}", cwd=tmp_path)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert ", 0 failed, " in answer.stdout
