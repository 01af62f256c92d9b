"""Notices of the end of a run: small, escaped, and never the reason why a run fails."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from longlook.core.errors import InputError, MachineError
from longlook.instruments.runs.listing import read_run
from longlook.instruments.runs.notice import check_target, notice_of, noticed, send

Received = list[dict[str, object]]


@contextmanager
def webhook(status: int = 200, **headers: str) -> Iterator[tuple[str, Received]]:
    """A server of this machine that keeps what it is sent; yield its address and that."""
    received: Received = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/hook/secret", received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_webhook_gets_the_state_and_the_verdicts(run: Path) -> None:
    with webhook() as (address, received), noticed(address, run):
        pass
    (notice,) = received
    assert (notice["event"], notice["state"], notice["study"]) == ("run_ended", "complete", "tiny")
    assert notice["verdicts"] == {"quic vs tcp": {"better": 2}}
    assert str(notice["text"]).startswith("plain tiny: complete after 0 s, 40 of 40 trials: 2 better")


def test_what_chats_take_for_commands_is_left_out_of_the_text(run: Path) -> None:
    listed = read_run(run)
    assert listed is not None
    hostile = Path("runs/<!channel> @everyone [x](http://evil) `rm` *b*\u202e")
    text = notice_of(hostile, listed, 1.0)["text"]
    assert not set(text) & set("<>!@[]()`*\u202e&")


def test_a_run_without_a_folder_failed(tmp_path: Path) -> None:
    with webhook() as (address, received), pytest.raises(InputError), noticed(address, tmp_path / "none"):
        raise InputError("a mistake")
    assert received[0]["state"] == "failed"


@pytest.mark.parametrize("status", [500, 404, 301])
def test_a_notice_that_is_not_taken_is_a_warning(run: Path, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    with webhook() as (other, elsewhere), webhook(status, Location=other) as (address, _), noticed(address, run):
        pass
    assert elsewhere == []  # it follows nobody
    errors = capsys.readouterr().err
    assert "no notice was sent to http://127.0.0.1" in errors
    assert "secret" not in errors


def test_nobody_listens(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with webhook() as (address, _):
        pass
    with noticed(address, run):
        pass
    assert "no notice was sent" in capsys.readouterr().err


@pytest.mark.parametrize(
    "target", ["", "mail", "ftp://x/y", "http://", "https:///path", "http://h:99999/", "http://h/a b", "file:///etc"]
)
def test_a_target_that_cannot_be_is_refused(target: str) -> None:
    with pytest.raises(InputError, match="--notify"):
        check_target(target)


def test_the_desktop_gets_escaped_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/told\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    check_target("desktop")
    send("desktop", {"text": "-x <b>&"})
    assert (tmp_path / "told").read_text().splitlines() == [
        "--app-name=Longlook",
        "--",
        "Longlook",
        "-x &lt;b&gt;&amp;",
    ]
    program.unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match="notify-send is missing"):
        check_target("desktop")
