"""The studies of a decision: which cells, arms and settings, and what cannot be asked."""

from pathlib import Path

import pytest

from longlook.core import InputError, Study, parse_toml
from longlook.instruments.decide.spec import DecideSpec, cpu_document, main_study, make_spec, settings_study
from longlook.study import as_toml

USERS = """
schema = 1
title = "Three"
source = "made up"
networks = [
  { label = "cable", share = "60%", rate = "50Mbit", rtt = "20ms" },
  { label = "far", share = "30%", rate = "2Mbit", rtt = "200ms", loss = "2%" },
  { label = "limited", share = "10%", rate = "5Mbit", rtt = "50ms", udp_rate = "1Mbit" },
]
"""
BLOCKED = '\n[everyone]\nblocked = "4.4%"\n'


def made(
    folder: Path, text: str = USERS + BLOCKED, *, server: str = "nginx@1.30.6", client: str = "quic-go"
) -> DecideSpec:
    path = folder / "users.toml"
    path.write_text(text)
    return make_spec(["docs", "shop"], server, client, path, cells=12, rounds=10, seed=1)


def labels(study: Study | None, factor: str) -> list[str]:
    assert study is not None
    return [level.label for each in study.factors if each.name == factor for level in each.levels]


def test_every_network_is_tried_open_and_blocked_but_for_what_cannot_be(tmp_path: Path) -> None:
    study = main_study(made(tmp_path))
    assert labels(study, "network") == ["cable", "far", "limited"]
    assert labels(study, "page") == ["docs", "shop"]
    assert labels(study, "udp") == ["open", "blocked"]
    assert [dict(rule) for rule in study.exclude] == [{"network": ("limited",), "udp": ("blocked",)}]
    assert [arm.settings["protocol"] for arm in study.arms] == ["h2", "h3-or-h2"]


def test_nothing_is_blocked_where_nobody_is(tmp_path: Path) -> None:
    assert labels(main_study(made(tmp_path, USERS)), "udp") == []


def test_settings_are_those_that_the_server_has(tmp_path: Path) -> None:
    nginx = settings_study(made(tmp_path))
    assert nginx is not None
    arms = {arm.name for arm in nginx.arms}
    assert {"h3-0rtt", "h3-resumed", "stream-send-buffer-1048576", "h2-window-32", "h2-bbr"} <= arms
    envoy = settings_study(made(tmp_path, server="envoy"))
    assert envoy is not None
    assert "congestion-control-cubic" in {arm.name for arm in envoy.arms}
    assert "stream-send-buffer-1048576" not in {arm.name for arm in envoy.arms}
    assert labels(nginx, "udp") == []


def test_a_browser_is_asked_for_its_largest_paint_and_knows_alt_svc(tmp_path: Path) -> None:
    study = main_study(made(tmp_path, client="chromium"))
    assert "largest_contentful_paint" in study.metrics
    assert study.arms[1].settings["client_knobs.memory"] == "alt-svc"


def test_measured_users_get_networks_that_stand_for_them(tmp_path: Path) -> None:
    (tmp_path / "users.csv").write_text("rtt_ms,rate_mbps,blocked\n20,50,0\n25,50,0\n200,2,1\n")
    spec = make_spec(["docs"], "caddy", "quic-go", tmp_path / "users.csv", cells=2, rounds=10, seed=1)
    assert [label for label, _ in spec.networks] == ["22ms, 50000kbit, 0%", "200ms, 2000kbit, 0%"]
    assert labels(main_study(spec), "udp") == ["open", "blocked"]


@pytest.mark.parametrize(
    ("server", "client", "said"),
    [
        ("apache", "quic-go", "no HTTP/3 that could be turned on"),
        ("nginx@1.22.1", "quic-go", "nginx@1.30.6 has it"),
        ("pycurl", "quic-go", "is no server"),
        ("nginx@1.30.6", "caddy", "is no client"),
    ],
)
def test_what_has_no_http_3_is_refused_with_what_has(tmp_path: Path, server: str, client: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        made(tmp_path, server=server, client=client)
    assert said in f"{caught.value.message} {caught.value.hint}"


def test_a_network_that_blocks_and_a_share_of_everyone_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sets block"):
        made(tmp_path, USERS.replace('rtt = "20ms"', 'rtt = "20ms", block = "udp"') + BLOCKED)


def test_the_study_of_cpu_time_is_a_study(tmp_path: Path) -> None:
    document = cpu_document(made(tmp_path))
    assert parse_toml(as_toml(document).encode(), "cpu.toml") == document
