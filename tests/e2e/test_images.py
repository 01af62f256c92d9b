"""A container image as a contestant: its program runs in a root of its own in a guest, as quick as without one."""

from pathlib import Path

import pytest

from longlook.core import Endpoint
from longlook.engines.choice import make_engine
from longlook.instruments.conformance.checks import Want
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.links import path
from longlook.instruments.conformance.proofs.ask import transfer
from longlook.instruments.conformance.runner import run_wants
from tests.support.command_line import longlook
from tests.support.image_programs import image_of_quic_go

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]
START = b"""#!/bin/sh
/setup.sh && /wait-for-it.sh sim:57832 -s -t 30 || exit 3
test "$ROLE" = server || exit 127
echo "root: $(echo /*)" >&2
echo written > /var/state/file || exit 5
echo refused > /bin/file && exit 6
echo refused > /www/file && exit 7
echo "a line for people"
/endpoint
"""


def seen(server: str, out: Path) -> Seen:
    name, _, version = server.partition("@")
    want = Want("h3", path(10, 0.036), transfer(200_000), Endpoint(name, version), Endpoint("quic-go", "0.65.0"))
    with make_engine("virtual") as engine:
        found = run_wants([want], engine, out, lambda _text: None, use_cache=False)[want.trial().id]
    assert isinstance(found, Seen), found
    return found


def load_ns(found: Seen) -> int:
    lines = found.events("client", "object")
    return max(int(line["t_end_ns"]) for line in lines) - min(int(line["t_start_ns"]) for line in lines)


def test_an_image_is_a_server_in_its_own_root_as_quick_as_its_program(tmp_path: Path) -> None:
    server = image_of_quic_go(tmp_path / "a.tar", START)
    image, program = seen(server, tmp_path / "image"), seen("quic-go@0.65.0", tmp_path / "program")
    assert image.ok, image.why
    assert program.ok, program.why
    assert abs(load_ns(image) - load_ns(program)) < 2_000_000
    again = seen(server, tmp_path / "again")
    assert load_ns(again) == load_ns(image)


@pytest.mark.parametrize(
    ("start", "says"),
    [
        (b"#!/bin/sh\nexit 127\n", "does not support this"),
        (b"#!/bin/sh\nexit 1\n", "the server ended at its start"),
        (b"#!/bin/sh\n/endpoint &\n", "the server ended"),
        (b"#!/bin/sh\nwhile :; do read -r x < /certs || exec /bin/sh -c 'kill -STOP $$'; done\n", "the server hung"),
    ],
)
def test_an_entry_point_that_serves_nothing_has_a_clear_outcome(tmp_path: Path, start: bytes, says: str) -> None:
    found = seen(image_of_quic_go(tmp_path / "a.tar", start), tmp_path / "run")
    assert not found.ok
    assert says in (found.why or "")


def test_an_image_is_checked_as_every_version_is(tmp_path: Path) -> None:
    image_of_quic_go(tmp_path / "a.tar", START)
    answer = longlook("stacks", "check", f"image:{tmp_path / 'a.tar'}", cwd=tmp_path)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert ", 0 failed, " in answer.stdout
