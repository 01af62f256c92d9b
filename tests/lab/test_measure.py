"""`longlook measure` against servers in a namespace of their own: a world with names, an authority and Caddy.

Everything here holds on a busy machine: no test depends on how long anything takes. A trial that the guard rejects runs
again, and no verdict is asked for.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.world import DEAD, HOST, OTHER, WWW, World, caddyfile, opened

pytestmark = pytest.mark.timeout(900)

FILE = f"https://{HOST}/file"
ROUNDS = ("--rounds", "10", "--on", "50Mbit,2ms,100packets")
PORTAL = "https://login.example.net/in"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    with opened(folder) as made:
        www = folder / "www"
        www.mkdir()
        (www / "file").write_bytes(bytes(range(256)) * 40)
        (www / "rotating.html").write_text('{{now | date "15:04:05.000000000"}}')
        certificate, key = made.authority.issue(HOST, "tcp.example.org", "two.example.org")
        site = (
            f" bind {WWW}\n tls {certificate} {key}\n root * {www}\n file_server\n templates /rotating.html\n"
            f" redir /moved {PORTAL}\n redir /here /file\n respond /limited 429\n respond /broken 500"
        )
        without = f" bind {OTHER}\n tls {certificate} {key}\n root * {www}\n file_server"
        made.name(
            {
                HOST: {"A": [WWW], "HTTPS": ['1 . alpn="h3,h2"']},
                "tcp.example.org": {"A": [OTHER]},
                "two.example.org": {"A": [DEAD, WWW]},
                "dead.example.org": {"A": [DEAD]},
                "empty.example.org": {"TXT": ["nothing"]},
            }
        )
        with (
            made.caddy(caddyfile({f"https://{HOST}, https://two.example.org": site})),
            made.caddy(caddyfile({"https://tcp.example.org": without}, "h1 h2"), name="tcp"),
        ):
            yield made


@pytest.fixture(scope="module")
def measured(world: World) -> tuple[Path, list[dict[str, Any]], str]:
    """A run of ten rounds: its folder, its lines and standard error."""
    out = world.folder / "measured"
    done = world.measure(FILE, *ROUNDS, "--json", "--out", str(out), https_proxy="http://192.0.2.9:3128")
    assert done.returncode == 0, done.stderr
    return out, [json.loads(line) for line in done.stdout.splitlines()], done.stdout


def seen(out: Path, event: str) -> list[dict[str, Any]]:
    return [entry for entry in json.loads((out / "sites.json").read_text()) if entry["event"] == event]


def test_both_protocols_are_measured_and_proven_by_the_client(measured: tuple[Path, Any, str]) -> None:
    out, lines, _ = measured
    ok = [line for line in lines if line["event"] == "trial" and line["outcome"] == "ok"]
    assert len(ok) >= 10, [line["reason"] for line in lines if line["event"] == "trial"]
    (answer,) = [line for line in lines if line["event"] == "measured"]
    assert answer["site"] == FILE
    spoken = set()
    for line in ok:
        trial = out / "trials" / line["id"]
        protocol = json.loads((trial / "trial.json").read_text())["protocol"]
        objects = [json.loads(text) for text in (trial / "client.jsonl").read_text().splitlines()]
        (fetched,) = [entry for entry in objects if entry["event"] == "object"]
        assert (fetched["protocol"], fetched["bytes"], fetched["status"]) == (protocol, 10_240, 200)
        assert fetched["headers"]["server"] == "Caddy"
        asked = json.loads((trial / "client.json").read_text())
        assert asked["user_agent"].endswith("(+tests@example.org)")
        spoken.add(protocol)
    assert spoken == {"h2", "h3"}
    assert (out / "report" / "index.html").exists()


def test_the_path_without_emulation_is_measured_before_each_trial(measured: tuple[Path, Any, str]) -> None:
    trials = seen(measured[0], "trial")
    assert trials
    for trial in trials:
        tcp, quic = sorted(trial["bases"], key=lambda base: str(base["transport"]), reverse=True)
        assert len(tcp["connect_ns"]) == 3
        assert tcp["certificate"] == quic["certificate"]
        assert (tcp["alpn"], quic["alpn"], tcp["address"]) == ("h2", "h3", WWW)


def test_each_round_is_resolved_and_pinned_and_records_are_kept(measured: tuple[Path, Any, str]) -> None:
    rounds = seen(measured[0], "round")
    assert [entry["round"] for entry in rounds] == list(range(10))
    assert {entry["address"] for entry in rounds} == {WWW}
    (look,) = seen(measured[0], "look")
    assert look["names"]["https"] == ['1 . alpn="h3,h2"']
    assert look["answers"]["h2"]["headers"]["alt-svc"].startswith('h3=":443"')


def test_a_proxy_of_the_environment_is_ignored_and_named(measured: tuple[Path, Any, str]) -> None:
    assert "https_proxy is ignored" in measured[2]


def test_nothing_of_a_run_is_left_on_the_machine(world: World, measured: tuple[Path, Any, str]) -> None:
    with world.home.inside():
        devices = Path("/proc/thread-self/net/dev").read_text()
        forwards = Path("/proc/sys/net/ipv4/conf/h0/forwarding").read_text().strip()
    assert "ll-" not in devices
    assert forwards == "0"
    assert not list((world.cache / "state" / "links").glob("*.json"))


@pytest.mark.parametrize(
    ("url", "code", "words"),
    [
        (f"https://{HOST}/moved", 2, rf"leads elsewhere \(HTTP status 302\): {PORTAL}"),
        (f"https://{HOST}/limited", 2, "HTTP status 429, it asks for fewer requests"),
        (f"https://{HOST}/broken", 2, "HTTP status 500"),
        (f"https://{HOST}/rotating.html", 2, "another body at each request"),
        ("https://tcp.example.org/file", 2, "does not speak HTTP/3: no handshake by QUIC"),
        ("https://nowhere.example.org/", 2, "does not exist"),
        ("https://empty.example.org/", 2, "has no address of IPv4"),
        ("https://dead.example.org/", 2, "answers at none of its addresses"),
    ],
)
def test_what_would_spoil_every_round_is_said_at_once(world: World, url: str, code: int, words: str) -> None:
    out = world.folder / "refused"
    done = world.measure(url, *ROUNDS, "--out", str(out))
    assert done.returncode == code
    assert re.search(words, re.sub(r"\s+", " ", done.stderr)), done.stderr
    assert "→" in done.stderr
    assert not out.exists()


def test_a_host_with_a_dead_address_is_asked_at_the_other(world: World) -> None:
    done = world.measure("https://two.example.org/broken", *ROUNDS, "--out", str(world.folder / "two"))
    assert f"no answer at {DEAD}" in done.stdout
    assert done.returncode == 2
    assert "HTTP status 500" in done.stderr  # of the other address


def test_an_authority_that_nobody_knows_is_not_trusted(world: World) -> None:
    done = world.longlook("measure", FILE, *ROUNDS, "--resolver", "203.0.113.53", "--out", "untrusted")
    assert done.returncode == 2
    assert f"the certificate of {HOST} is not trusted" in done.stderr


def test_another_host_is_not_followed(world: World) -> None:
    done = world.measure(f"https://{HOST}/moved", *ROUNDS, "--follow", "--out", str(world.folder / "followed"))
    assert done.returncode == 2
    assert "nothing is sent to a host that you do not name" in re.sub(r"\s+", " ", done.stderr)


def test_a_dry_run_sends_nothing_and_says_what_it_would_send(world: World) -> None:
    done = world.measure("https://nowhere.example.org/x", "--dry-run", "--rounds", "10", "--json")
    assert done.returncode == 0
    plan = json.loads(done.stdout)
    assert (plan["url"], plan["trials"], plan["requests"]) == ("https://nowhere.example.org/x", 20, 22)
    assert plan["user_agent"].endswith("(+tests@example.org)")


def test_nobodys_requests_are_refused(world: World) -> None:
    done = world.measure(FILE, *ROUNDS, LONGLOOK_CONTACT="")
    assert done.returncode == 2
    assert "--contact" in done.stderr


def test_a_budget_that_is_used_up_ends_a_run_and_keeps_its_rounds(world: World) -> None:
    out = world.folder / "budget"
    spent = json.loads(world.measure(FILE, "--dry-run", "--json").stdout)["spent_requests"]
    done = world.measure(FILE, *ROUNDS, "--most-requests", str(spent + 6), "--out", str(out))
    assert done.returncode == 3
    assert "was asked for as much as it may be within an hour" in re.sub(r"\s+", " ", done.stderr)
    assert len(list(out.glob("trials/*/run.json"))) + len(list(out.glob("**/run.json"))) >= 1
