"""The page of a run that goes on: what it shows, who may read it, and that nothing in the run folder changes."""

import http.client
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from longlook.core import files
from longlook.core.run_folder import RunFolder
from longlook.instruments.runs.live_maps import live_maps, maps_html
from longlook.instruments.runs.live_page import Allowance, LiveMaps, page_html
from longlook.instruments.runs.server import PageServer, as_json
from longlook.pipeline.partial import PartialRun
from tests.support.command_line import call_longlook


@pytest.fixture
def server() -> Iterator[PageServer]:
    """A server of two files."""
    with PageServer({"": lambda: ("text/html", "<p>page"), "state.json": lambda: as_json({"n": 1})}) as serving:
        yield serving


def ask(server: PageServer, path: str, method: str = "GET", **headers: str) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.headers)
    finally:
        connection.close()


def address(server: PageServer) -> str:
    return server.address.removeprefix(f"http://127.0.0.1:{server.port}")


def test_whoever_knows_the_address_reads_the_page(server: PageServer) -> None:
    status, text, headers = ask(server, address(server))
    assert (status, text) == (200, "<p>page")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert f"'nonce-{server.nonce}'" in headers["Content-Security-Policy"]
    assert json.loads(ask(server, f"{address(server)}state.json")[1]) == {"n": 1}
    assert ask(server, address(server), Host=f"localhost:{server.port}")[0] == 200
    assert ask(server, address(server), "HEAD")[:2] == (200, "")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost", "[::1]", ""])
def test_another_host_is_refused(server: PageServer, host: str) -> None:
    status, text, _ = ask(server, address(server), Host=host)
    assert status == 403
    assert "page has another address" in text


@pytest.mark.parametrize("path", ["/", "/state.json", "//", "/%2e%2e/", "/x/state.json", "/" + "a" * 5000])
def test_without_the_token_there_is_no_page(server: PageServer, path: str) -> None:
    assert ask(server, path)[0] == 404
    assert ask(server, f"{address(server)}../x")[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_but_reading_is_known(server: PageServer, method: str) -> None:
    status, text, _ = ask(server, address(server), method)
    assert (status, text) == (501, "501\n")


def test_the_last_drawing_has_the_estimates_of_the_report(run: Path, tmp_path: Path) -> None:
    before = {name: files.digest(run / name) for name, _ in files.below(run)}
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    partial = PartialRun(run, scratch)
    assert [partial.measure_next(30), partial.measure_next(30), partial.measure_next(30)] == [30, 10, 0]
    found = partial.so_far()
    table = pd.read_parquet(run / "estimates.parquet")
    assert [each.effect_pct for each in found.estimates] == table["effect_pct"].tolist()
    assert [str(each.verdict) for each in found.estimates] == table["verdict"].tolist()
    assert set(found.rounds.values()) == {10}
    assert list(scratch.iterdir()) == []
    assert {name: files.digest(run / name) for name, _ in files.below(run)} == before


def test_a_cell_that_goes_on_shows_its_rounds_in_place_of_a_verdict(run: Path, tmp_path: Path) -> None:
    partial = PartialRun(run, tmp_path / "scratch")
    (tmp_path / "scratch").mkdir()
    partial.measure_next(6)
    (drawn,) = live_maps(partial.study, partial.so_far())
    assert len(drawn.squares) == 2
    assert all(square.mark == "" for square in drawn.squares.values())
    assert {square.note for square in drawn.squares.values()} == {"1 of 10 rounds", "2 of 10 rounds"}
    html = maps_html([drawn])
    assert "1 of 10 rounds" in html
    assert "<a " not in html


def test_before_the_first_trial_all_cells_are_there(run: Path, tmp_path: Path) -> None:
    partial = PartialRun(run, tmp_path)
    (drawn,) = live_maps(partial.study, partial.so_far())
    assert {square.note for square in drawn.squares.values()} == {"0 of 10 rounds"}


def test_labels_of_others_are_escaped(run: Path, tmp_path: Path) -> None:
    partial = PartialRun(run, tmp_path / "scratch")
    (tmp_path / "scratch").mkdir()
    partial.measure_next(40)
    hostile = "</title><script>alert(1)</script>\u202e"
    arms = tuple(replace(arm, label=hostile + arm.name) for arm in partial.study.arms)
    study = replace(partial.study, title=hostile, question=hostile, arms=arms)
    html = maps_html(live_maps(study, partial.so_far())) + page_html(study, Path(f"runs/{hostile}"), "nonce")
    assert "<script>alert" not in html
    assert "\u202e" not in html


def test_the_heatmaps_follow_until_the_end(run: Path) -> None:
    maps = LiveMaps(run)  # which nobody writes to: it has earned nothing
    assert maps.now == (0, "")
    maps.start()
    ender = threading.Thread(target=maps.finish)
    ender.start()
    ender.join(120)
    assert not ender.is_alive()
    number, html = maps.now
    assert number >= 1
    assert "▲" in html


def test_the_page_waits_until_the_run_has_earned_it(run: Path) -> None:
    assert not Allowance(run).has(0.0)
    with RunFolder.open(run):  # this process is the run and the page
        assert not Allowance(run).has(0.0)
        assert Allowance(run, measuring_s=time.process_time() + 10.0).has(5.0)


def test_a_port_without_the_page_is_refused(run: Path) -> None:
    answer = call_longlook("watch", str(run), "--port", "8080")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "--page" in answer.stderr


def test_a_port_that_is_in_use_is_refused(run: Path, server: PageServer) -> None:
    answer = call_longlook("watch", str(run), "--page", "--port", str(server.port))
    assert answer.returncode == 2
    assert f"--port {server.port}" in answer.stderr
