"""`longlook link` with real namespaces: what a command behind it sees, and that nothing stays behind."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from longlook.outside import inhabitants
from tests.support.link_host import (
    CONNECT_MS,
    FETCH,
    LONGLOOK,
    PYTHON,
    LinkHost,
    links,
    reaper_of,
    wait_for,
    wait_until_open,
)

pytestmark = [pytest.mark.lab, pytest.mark.realtime]


CONNECT = f"{PYTHON} - <<'END'\n{CONNECT_MS}END\n"


def test_a_transfer_goes_through_the_link(host: LinkHost, tmp_path: Path) -> None:
    www = tmp_path / "www"
    www.mkdir()
    (www / "file").write_bytes(os.urandom(500_000))
    summary_file, log = tmp_path / "summary.json", tmp_path / "link.bin"
    options = ["--rate", "8mbit", "--rtt", "20ms", "--queue", "60KB", "--seed", "5"]
    with host.serving(www):
        done = host.link(*options, "--json", str(summary_file), "--log", str(log), "--", PYTHON, "-c", FETCH, "file")
    assert done.returncode == 0, done.stderr
    size, spent_s = map(float, done.stdout.split())
    assert size == 500_000
    assert 0.5 <= spent_s < 1.5  # 500 kB at 8 Mbit/s
    summary = json.loads(summary_file.read_text())
    down = summary["down"]
    assert down["delivered_bytes"] >= 500_000
    dropped = sum(value for key, value in down.items() if key.startswith("dropped_"))
    assert down["arrived"] + down.get("copied", 0) == down["delivered"] + dropped + down["queued"]
    assert down["max_queue_bytes"] <= 60_000
    assert down["mean_rate_bps"] <= 8_000_000
    assert summary["lateness"]["packets"] == summary["up"]["delivered"] + down["delivered"]
    assert summary["lateness"]["max_ns"] == summary["guard"]["max_late_ns"]
    assert summary["seed"] == 5
    assert summary["settings"]["network.rate"] == "8Mbit"
    assert "behind the link, exit code 0" in done.stderr
    assert log.stat().st_size > 64 * down["delivered"]


def test_nesting_adds_delays(host: LinkHost, tmp_path: Path) -> None:
    with host.serving(tmp_path):
        outer = ["--rtt", "30ms", "--quiet", "--"]
        inner = [LONGLOOK, "link", "--rtt", "50ms", "--quiet", "--", PYTHON, "-c", CONNECT_MS]
        # The first outer address is not the inner link's own outside: it is reached through both.
        done = host.link(*outer, "sh", "-c", '"$@" "$LONGLOOK_LINK_OUTSIDE"', "sh", *inner)
    assert done.returncode == 0, done.stderr
    assert 80.0 <= float(done.stdout) < 90.0
    assert done.stderr == ""


def test_directions_differ(host: LinkHost, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(200_000))
    with host.serving(tmp_path):
        done = host.link(
            *["--rtt", "10ms", "--up", "rate=1mbit", "--down", "rate=4mbit", "--down", "queue=1MB", "--json"],
            *["--", PYTHON, "-c", FETCH, "file"],
        )
    assert done.returncode == 0, done.stderr
    _, spent_s = map(float, done.stdout.split())
    assert 0.4 <= spent_s < 1.2
    summary = json.loads(next(line for line in done.stderr.splitlines() if line.startswith("{")))
    assert summary["up"]["max_queue_bytes"] < summary["down"]["max_queue_bytes"]
    assert summary["settings"] == {
        "network.rtt": "10ms",
        "network.up.rate": "1Mbit",
        "network.down.rate": "4Mbit",
        "network.down.queue": "1MB",
    }


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["true"], 0),
        (["sh", "-c", "exit 42"], 42),
        (["sh", "-c", "kill -TERM $$"], 128 + signal.SIGTERM),
        (["sh", "-c", "kill -KILL $$"], 128 + signal.SIGKILL),
        (["no-such-program-here"], 127),
        (["/etc/passwd"], 126),
    ],
)
def test_exit_codes_are_the_commands(host: LinkHost, command: list[str], code: int) -> None:
    done = host.link("--quiet", "--", *command)
    assert done.returncode == code, done.stderr
    assert (code in (126, 127)) == (command[0] in done.stderr)


def test_the_shell_is_the_default_and_standard_streams_are_the_commands(host: LinkHost) -> None:
    host.env["SHELL"] = "/bin/echo"
    done = host.link("--rate", "1mbit")
    assert (done.returncode, done.stdout) == (0, "\n")


def test_a_command_needs_no_dashes_and_keeps_its_own(host: LinkHost) -> None:
    done = host.link("--quiet", "echo", "--rate", "--", "describe")
    assert (done.returncode, done.stdout) == (0, "--rate -- describe\n")


def test_the_command_finds_addresses_in_its_environment(host: LinkHost) -> None:
    done = host.link(
        "--quiet", "--", "sh", "-c", "echo $LONGLOOK_LINK_CLIENT $LONGLOOK_LINK_OUTSIDE; cat /proc/net/dev"
    )
    client, outside = done.stdout.splitlines()[0].split()
    assert (client, outside) == ("100.64.0.2", "100.64.0.1")
    assert "link0" in done.stdout


def test_links_side_by_side_have_addresses_of_their_own(host: LinkHost, tmp_path: Path) -> None:
    first = host.start(LONGLOOK, "link", "--quiet", "--", "sleep", "100")
    wait_until_open(host)
    with host.serving(tmp_path):
        done = host.link("--quiet", "--rtt", "10ms", "--", "sh", "-c", f"echo $LONGLOOK_LINK_OUTSIDE; {CONNECT}")
    outside, connect_ms = done.stdout.split()
    assert outside == "100.64.0.5"
    assert float(connect_ms) >= 10.0
    first.terminate()
    first.communicate(timeout=20)
    assert first.returncode == 128 + signal.SIGTERM


def test_an_isolated_link_has_a_server_at_its_far_end(host: LinkHost, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(10_000))
    server = f"{PYTHON} -m http.server --bind $LONGLOOK_LINK_SERVER 8000"
    fetch = f'{PYTHON} -c "$0" file $LONGLOOK_LINK_SERVER; test -z "$LONGLOOK_LINK_OUTSIDE"'
    done = host.link("--rtt", "20ms", "--quiet", "--server", server, "--", "sh", "-c", fetch, FETCH)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("10000 ")


def test_a_server_that_fails_is_reported(host: LinkHost) -> None:
    done = host.link("--server", "exit 3", "--", "true")
    assert done.returncode == 1
    assert "the server ended with exit code 3" in done.stderr


STUBBORN = ["sh", "-c", "trap '' TERM INT HUP; sleep 100 & sleep 100; sleep 100; sleep 100"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_command_and_link(host: LinkHost, number: signal.Signals) -> None:
    process = host.start(LONGLOOK, "link", "--rate", "1mbit", "--", "sleep", "100")
    wait_until_open(host)
    process.send_signal(number)
    _, messages = process.communicate(timeout=15)
    assert process.returncode == 128 + (number if number == signal.SIGINT else signal.SIGTERM)
    assert "behind the link" in messages


def test_a_command_that_will_not_end_is_killed_with_all_it_started(host: LinkHost) -> None:
    process = host.start(LONGLOOK, "link", "--", *STUBBORN)
    wait_until_open(host)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 128 + signal.SIGKILL


def test_sigkill_leaves_nothing(host: LinkHost) -> None:
    process = host.start(LONGLOOK, "link", "--", *STUBBORN)
    wait_until_open(host)
    process.kill()
    process.communicate(timeout=15)
    wait_for(lambda: not host.left_behind())


def test_state_left_by_a_killed_reaper_goes_at_the_next_start(host: LinkHost) -> None:
    process = host.start(LONGLOOK, "link", "--", *STUBBORN)
    wait_until_open(host)
    os.kill(reaper_of(process.pid), signal.SIGKILL)
    process.kill()
    wait_for(lambda: process.poll() is not None)
    assert host.left_behind()
    assert host.link("--quiet", "--", "true").returncode == 0
    wait_for(lambda: not host.left_behind())
    process.communicate(timeout=5)


def test_the_death_of_the_router_ends_the_run(host: LinkHost) -> None:
    process = host.start(LONGLOOK, "link", "--", "sleep", "100")
    record = wait_until_open(host)
    os.kill(record["helpers"][0][0], signal.SIGKILL)  # type: ignore[index]
    _, messages = process.communicate(timeout=15)
    assert process.returncode == 1
    assert "the link is down: it ended with signal SIGKILL" in messages


def test_the_loss_of_the_outer_device_ends_the_run(host: LinkHost) -> None:
    process = host.start(LONGLOOK, "link", "--", "sleep", "100")
    record = wait_until_open(host)
    netlink = host.namespace.netlink
    netlink.link("del", index=host.namespace.index(f"ll-{record['marker']}"))
    _, messages = process.communicate(timeout=15)
    assert process.returncode == 1
    assert "the link is down" in messages


def test_processes_that_the_command_left_behind_end(host: LinkHost) -> None:
    began = time.monotonic()
    done = host.link("--quiet", "--", "sh", "-c", "sleep 100 >/dev/null 2>&1 & echo started")
    assert (done.returncode, done.stdout) == (0, "started\n")
    assert time.monotonic() - began < 10


def test_ctrl_c_on_a_terminal_is_the_commands(host: LinkHost) -> None:
    terminal = host.terminal(
        LONGLOOK, "link", "--", "sh", "-c", "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.1; done"
    )
    terminal.expect("ready")
    terminal.type("\x03")
    terminal.expect("caught")
    terminal.expect("exit code 5")
    assert terminal.wait() == 5


def test_a_shell_behind_the_link_has_job_control(host: LinkHost) -> None:
    terminal = host.terminal(LONGLOOK, "link", "--rtt", "5ms", "--", "bash", "--norc", "-i")
    terminal.expect("bash-")
    terminal.type("sleep 100\n")
    time.sleep(0.5)
    terminal.type("\x1a")
    terminal.expect("Stopped")
    terminal.type("jobs; fg\n")
    terminal.expect("Stopped")
    time.sleep(0.3)
    terminal.type("\x03")
    terminal.type("echo still-$((40 + 2))\n")
    terminal.expect("still-42")
    terminal.type("exit 9\n")
    terminal.expect("exit code 9")
    assert terminal.wait() == 9


def test_a_stopped_link_goes_on(host: LinkHost) -> None:
    terminal = host.terminal(shutil.which("bash") or "bash", "--norc", "-i")
    terminal.expect("bash-")
    terminal.type(f"{LONGLOOK} link -- sleep 100\n")
    terminal.expect("the command at")
    time.sleep(0.5)
    terminal.type("\x1a")
    terminal.expect("Stopped")
    terminal.type("fg\n")
    time.sleep(0.5)
    terminal.type("\x03")
    terminal.expect("exit code 130")
    terminal.type("echo code=$?; exit 0\n")
    terminal.expect("code=130")
    assert terminal.wait() == 0


def test_a_link_under_nohup_ignores_a_lost_terminal(host: LinkHost) -> None:
    process = host.start("nohup", LONGLOOK, "link", "--", "sleep", "2")
    wait_until_open(host)
    os.killpg(process.pid, signal.SIGHUP)
    _, messages = process.communicate(timeout=15)
    assert process.returncode == 0, messages


def test_the_command_has_its_own_descriptors_and_none_of_ours(host: LinkHost) -> None:
    script = f"{LONGLOOK} link --quiet -- sh -c 'ls /proc/self/fd; cat /dev/fd/7' 7</etc/hostname"
    out, messages = host.start("sh", "-c", script).communicate(timeout=30)
    assert out.split() == ["0", "1", "2", "3", "7", *Path("/etc/hostname").read_text().split()], messages


def test_links_in_links_end_one_after_the_other(host: LinkHost) -> None:
    process = host.start(LONGLOOK, "link", "--", LONGLOOK, "link", "--", *STUBBORN)
    wait_for(lambda: len(links(host)) == 2)
    wait_for(lambda: all(record["inside"] and inhabitants(record["inside"][0]) for record in links(host)))
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 128 + signal.SIGKILL
    assert not host.left_behind()


def test_a_lost_terminal_ends_the_link(host: LinkHost) -> None:
    terminal = host.terminal(LONGLOOK, "link", "--", "sh", "-c", "echo ready; sleep 100")
    terminal.expect("ready")
    os.close(terminal.descriptor)
    _, status = os.waitpid(terminal.pid, 0)
    assert os.waitstatus_to_exitcode(status) != 0


@pytest.mark.parametrize("datapath", ["tun", "offload"])
def test_tun_devices_carry_a_link_too(host: LinkHost, tmp_path: Path, datapath: str) -> None:
    host.env["LONGLOOK_DATAPATH"] = datapath
    with host.serving(tmp_path):
        done = host.link("--rtt", "20ms", "--", PYTHON, "-c", CONNECT_MS)
    assert done.returncode == 0, done.stderr
    assert 20.0 <= float(done.stdout) < 30.0


UNPRIVILEGED = ("setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all")
"""Root in name only: may map its user into a namespace, as any ordinary user may, and nothing else."""


def test_without_privileges_isolated_links_work_and_nest(host: LinkHost, tmp_path: Path) -> None:
    server = f"{PYTHON} -m http.server --bind $LONGLOOK_LINK_SERVER 8000"
    inner = [LONGLOOK, "link", "--rtt", "50ms", "--quiet", "--", "sh", "-c", f'{PYTHON} -c "$0" $LONGLOOK_LINK_SERVER']
    options = ["--rtt", "30ms", "--server", server]
    process = host.start(*UNPRIVILEGED, LONGLOOK, "link", *options, "--", *inner, CONNECT_MS, cwd=tmp_path)
    out, messages = process.communicate(timeout=40)
    assert process.returncode == 0, messages
    assert 80.0 <= float(out) < 95.0
    assert "no real-time priority" in messages


def test_without_privileges_the_way_out_needs_a_program(host: LinkHost, tmp_path: Path) -> None:
    host.env["PATH"] = str(tmp_path)
    setpriv = shutil.which(UNPRIVILEGED[0])
    assert setpriv is not None
    process = host.start(setpriv, *UNPRIVILEGED[1:], LONGLOOK, "link", "--", "true")
    _, messages = process.communicate(timeout=40)
    assert process.returncode == 3
    assert "apt install passt" in messages


def test_bad_input_names_the_option(host: LinkHost) -> None:
    for arguments, words in (
        (["--rate", "fast"], "--rate fast: not a rate: write a number and one of bit, kbit, Mbit, Gbit"),
        (["--set", "jiter=1ms"], "did you mean 'jitter'?"),
        (["--up", "rate"], "--up rate: not KEY=VALUE"),
        (["--queue", "30KB"], "--queue needs a rate"),
        (["--rate", "1mbit", "--trace", "x"], "--trace sets network.rate again, after --rate"),
        (["--preset", "nowhere"], "--preset nowhere: allowed: "),
        (["--log", "/nonexistent/log"], "--log /nonexistent/log: no such folder"),
        (["--jitter", "5ms"], "--jitter: "),
    ):
        done = host.link(*arguments, "--", "true")
        assert done.returncode == 2, (arguments, done.stderr)
        assert words in done.stderr


def test_subcommands(host: LinkHost, tmp_path: Path) -> None:
    described = host.link("describe").stdout
    json.loads(described)
    for word in ("rate_bps", "delay_ns", "probability"):
        assert f'"{word}"' in described
    known = json.loads(host.link("presets", "--json").stdout)
    assert {"name", "summary", "source", "settings"} <= known[0].keys()
    assert "Kakhki" in host.link("presets").stdout


def test_a_log_is_exported_for_wireshark(host: LinkHost, tmp_path: Path) -> None:
    with host.serving(tmp_path):
        assert host.link("--rtt", "5ms", "--log", "link.bin", "--", PYTHON, "-c", CONNECT_MS).returncode == 0
    done = host.link("export", "link.bin", "out.pcapng")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.pcapng").read_bytes().startswith(b"\x0a\x0d\x0d\x0a")
    done = host.link("export", "out.pcapng", "again.pcapng")
    assert done.returncode == 2
    assert "out.pcapng" in done.stderr


def test_two_commands_are_compared_behind_a_link_of_their_own(tmp_path: Path) -> None:
    """Both fetch over the link, and one waits besides for longer than the fetch takes, so no load decides this."""
    (tmp_path / "file").write_bytes(b"x" * 2_000)
    fetch = f"{PYTHON} -c 'import os, urllib.request as u; u.urlopen(os.environ[\"URL\"]).read()'"
    sides = [
        f"URL=http://$LONGLOOK_LINK_SERVER:8000/file; export URL; {fetch}; {after}" for after in ("true", "sleep 2")
    ]
    server = f"{PYTHON} -m http.server 8000 --directory {tmp_path}"
    out = tmp_path / "compared"
    network = ["--on", "rate=50mbit,rtt=10ms", "--server", server]
    done = subprocess.run(
        [LONGLOOK, "compare", *sides, *network, "--rounds", "10", "--out", str(out), "--json"],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    runs = [event for event in events if event["event"] == "run"]
    valid = {number for number in range(1, 21) if all(run["end"] == "ok" for run in runs if run["round"] == number)}
    answer = events[-1]
    assert done.returncode == 1 and answer["answer"] == "worse", done.stdout + done.stderr
    (case,) = answer["cases"]
    assert case["rounds"] == 10 <= len(valid) and case["failed"] == {"baseline": 0, "contender": 0}
    assert case["high_pct"] < -5 and case["medians_s"]["contender"] > 2
    assert all(run["received_bytes"] > 2_000 for run in runs if run["end"] == "ok")
    assert len((out / "rounds.csv").read_text().splitlines()) == 1 + len(runs)
