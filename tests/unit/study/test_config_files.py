"""Own configurations of servers in studies: paths, identity, labels, and reading after the file is gone."""

import hashlib
from pathlib import Path

import pytest

from longlook.core import codec
from longlook.core.errors import InputError
from longlook.core.model import ServerConfig
from longlook.provision import server_configs
from longlook.study.arms import arm_differences
from longlook.study.catalogue import installed
from longlook.study.files import find_study
from longlook.study.plan import make_plan
from longlook.study.settings import parse_config

TEXT = "http { gzip on; }\n"
HEX = hashlib.sha256(TEXT.encode()).hexdigest()
STUDY = """\
schema = 1
title = "T"
question = "Q?"
metrics = ["page_load_time"]
rounds = 2
around = "none"
[defaults]
protocol = "h2"
connection = "cold"
congestion_control = "cubic"
server = "nginx@1.26.3"
client = "quic-go"
[arms.stock]
[arms.ours]
server_config = "own/my.conf"
[workload]
kind = "page"
objects = 1
object = "5KB"
[network]
rtt = "50ms"
queue = "1bdp"
[[factors]]
name = "rate"
sets = "network.rate"
levels = ["20Mbit"]
[[contrasts]]
name = "ours"
baseline = "stock"
contender = "ours"
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study file with a configuration beside it."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "my.conf").write_text(TEXT)
    file = tmp_path / "mine.toml"
    file.write_text(STUDY)
    return file


def test_the_trials_have_the_name_and_the_digest(study: Path) -> None:
    found = find_study(str(study))
    configs = {trial.arm: trial.server.config for trial in make_plan(found).trials}
    own = configs["ours"]
    assert configs["stock"] is None
    assert own is not None
    assert (own.name, own.digest, own.label) == ("my.conf", f"sha256:{HEX}", f"my.conf {HEX[:7]}")
    assert server_configs.load(own) == TEXT
    assert found.traces == {f"server_config {study.parent}/own/my.conf": own.digest}


def test_labels_and_differences_name_it(study: Path) -> None:
    found = find_study(str(study))
    assert [arm.label for arm in found.arms] == ["stock", f"ours (my.conf {HEX[:7]})"]
    assert arm_differences(found, installed()) == {
        "stock": {"server": "nginx@1.26.3"}, "ours": {"server": f"nginx@1.26.3 (my.conf {HEX[:7]})"},
    }  # fmt: skip


def test_another_text_makes_other_trials_of_that_arm_alone(study: Path) -> None:
    before = {trial.id: trial.arm for trial in make_plan(find_study(str(study))).trials}
    (study.parent / "own" / "my.conf").write_text("http { gzip off; }\n")
    after = {trial.id: trial.arm for trial in make_plan(find_study(str(study))).trials}
    assert {before[each] for each in before.keys() & after.keys()} == {"stock"}
    assert len(before.keys() & after.keys()) == 2


def test_a_study_can_be_planned_again_when_its_file_is_gone(study: Path) -> None:
    found = find_study(str(study))
    (study.parent / "own" / "my.conf").unlink()
    assert make_plan(find_study(str(study), traces=found.traces)).hash == make_plan(found).hash
    with pytest.raises(InputError, match=r"arms\.ours\.server_config = .*own/my\.conf.* cannot be read: No such file"):
        find_study(str(study))


def test_a_run_folder_has_the_text_and_gives_it_to_a_cache_without_it(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(find_study(str(study)))
    server_configs.lay(plan, tmp_path / "run")
    assert (tmp_path / "run" / "server-configs" / f"{HEX}.conf").read_text() == TEXT
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "elsewhere"))
    (config,) = {trial.server.config for trial in plan.trials if trial.server.config is not None}
    with pytest.raises(InputError, match=r"the configuration my\.conf \w+ is not there"):
        server_configs.load(config)
    server_configs.adopt(tmp_path / "run")
    assert server_configs.load(config) == TEXT
    (tmp_path / "run" / "server-configs" / f"{HEX}.conf").write_text("damaged")
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "third"))
    with pytest.raises(InputError, match="is damaged"):
        server_configs.adopt(tmp_path / "run")


def test_it_can_be_a_factor_and_none(study: Path) -> None:
    text = STUDY.replace('server_config = "own/my.conf"\n', "").replace(
        '"network.rate"\nlevels = ["20Mbit"]', '"server_config"\nlevels = ["none", "own/my.conf"]'
    )
    study.write_text(text.replace('rtt = "50ms"', 'rtt = "50ms"\nrate = "20Mbit"'))
    found = {
        trial.cell["rate"]: trial.server.config and trial.server.config.name
        for trial in make_plan(find_study(str(study))).trials
    }
    assert found == {"none": None, "own/my.conf": "my.conf"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xff\xfe", r"no text in UTF-8 \(byte 1\)"),
        (b"\xef\xbb\xbfhttp { }\n", "begins with a byte order mark: save it as UTF-8 without one"),
        (b"a\nb\0", "line 2 has a zero byte"),
        (b"", "empty"),
        (b"#" * ((64 << 10) + 1), "allowed: a text of 1 byte to 64 KiB"),
    ],
)
def test_what_is_no_text_is_refused(study: Path, content: bytes, reason: str) -> None:
    (study.parent / "own" / "my.conf").write_bytes(content)
    with pytest.raises(InputError, match=reason):
        find_study(str(study))


def test_a_server_that_takes_none_says_which_do(study: Path) -> None:
    study.write_text(STUDY.replace("nginx@1.26.3", "quic-go"))
    with pytest.raises(InputError, match=r"server quic-go takes no configuration of yours; .* caddy, haproxy, nginx"):
        make_plan(find_study(str(study)))


@pytest.mark.parametrize("name", ["/home/u/.bashrc", "../../x", "..", ".", "a\nb"])
def test_a_name_that_leads_elsewhere_is_no_kept_configuration(study: Path, name: str) -> None:
    assert parse_config(f"{name} sha256:{HEX}") is None
    study.write_text(STUDY.replace('"own/my.conf"', codec.canonical(f"{name} sha256:{HEX}")))
    with pytest.raises(InputError, match=r"arms\.ours\.server_config = "):
        find_study(str(study))


@pytest.mark.parametrize("name", ["/home/u/.bashrc", "../../x", "..", ".", "", "a\0b"])
def test_a_trial_from_elsewhere_cannot_have_such_a_name(name: str) -> None:
    with pytest.raises(ValueError, match="is no plain name of a file"):
        codec.decode(ServerConfig, {"name": name, "digest": f"sha256:{HEX}"})
