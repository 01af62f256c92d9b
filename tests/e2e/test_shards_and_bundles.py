"""Shards give the bytes of the whole study, and a stranger can check its bundle: real programs in virtual time."""

import json
import os
import re
import shutil
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from longlook.core import cache_dir, files
from longlook.instruments.bundle.archive import write_bundle
from longlook.instruments.bundle.layout import SUMS
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(3000)]

STUDY = """
schema = 1
title = "A small load, with and without losses"
question = "Does a resumed connection load earlier?"
rounds = 2
seed = 3
timeout = "60s"
losses = "strata"
metrics = ["page_load_time"]
defaults = { server = "quic-go", client = "quic-go", protocol = "h3" }
workload = { kind = "page", objects = 1, object = "1KB" }
network = { rate = "10Mbit", rtt = "20ms" }
factors = [{ name = "loss", sets = "network.loss", levels = ["0%", "2%"] }]
contrasts = [["cold", "resumed"]]
analysis = { min_rounds = 2 }

[arms.cold]
connection = "cold"
[arms.resumed]
connection = "resumed"
"""
NAMES_TIMES = {"manifest.json", "seals.jsonl", "report/index.html"}
MANIFEST = re.compile(r'<section id="manifest">.*?</section>', re.DOTALL)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "small.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture(scope="module")
def whole(study: Path) -> Path:
    done = longlook("run", str(study), "--out", str(study.parent / "whole"))
    assert done.returncode == 0, done.stderr
    return study.parent / "whole"


@pytest.fixture(scope="module")
def bundle(whole: Path) -> Path:
    out = whole.parent / "whole.longlook.zip"
    done = longlook("bundle", str(whole), "--out", str(out), "--artefacts", "--programs")
    assert done.returncode == 0, done.stderr
    return out


def content(run: Path) -> Iterator[tuple[str, str]]:
    for name, _ in files.below(run):
        if not any(part.startswith(".") for part in name.split("/")) and name not in NAMES_TIMES:
            yield name, files.digest(run / name)


def test_merged_shards_are_the_whole_study_to_the_byte(study: Path, whole: Path, tmp_path: Path) -> None:
    for number in (1, 2):
        done = longlook("run", str(study), "--shard", f"{number}/2", "--out", str(tmp_path / f"shard-{number}"))
        assert done.returncode == 0, done.stderr
        assert f"This is shard {number}/2" in (tmp_path / f"shard-{number}" / "report" / "index.html").read_text()
    shards = [str(tmp_path / f"shard-{number}") for number in (2, 1)]
    done = longlook("merge", *shards, "--out", str(tmp_path / "merged"))
    assert done.returncode == 0, done.stderr
    assert dict(content(tmp_path / "merged")) == dict(content(whole))
    pages = [MANIFEST.sub("", (run / "report" / "index.html").read_text()) for run in (whole, tmp_path / "merged")]
    assert pages[0] == pages[1]
    manifests = [json.loads((run / "manifest.json").read_text()) for run in (whole, tmp_path / "merged")]
    assert manifests[0]["results"] == manifests[1]["results"]
    again = longlook("run", str(tmp_path / "merged"), "--resume", str(tmp_path / "merged"))
    assert again.returncode == 0, again.stderr
    assert json.loads((tmp_path / "merged" / "manifest.json").read_text())["results"] == manifests[0]["results"]


def test_a_stranger_gets_the_same_bytes_with_an_empty_cache(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "cache" / "kernel").mkdir(parents=True)
    shutil.copytree(cache_dir() / "kernel", tmp_path / "cache" / "kernel", dirs_exist_ok=True)
    shutil.copytree(cache_dir() / "stacks" / "quic-go", tmp_path / "cache" / "stacks" / "quic-go")
    environment = {**_environment(), "LONGLOOK_CACHE": str(tmp_path / "cache")}
    done = longlook("verify", str(bundle), "--sample", "2", "--seed", "5", env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"same bytes: 2 of 2 trials; [0-9.]+ % of [0-9]+, drawn with seed 5", done.stdout)
    assert "analysis anew: results the same" in done.stdout


def test_programs_of_a_bundle_run_on_a_machine_that_has_none(bundle: Path, tmp_path: Path) -> None:
    environment = {**_environment(), "LONGLOOK_CACHE": str(tmp_path / "cache")}
    arguments = ("--sample", "1", "--use-programs", "--json")
    done = longlook("verify", str(bundle), *arguments, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert (result["same"], result["drawn"], result["deviations"]) == (1, 1, [])
    assert not (tmp_path / "cache" / "stacks").exists()


def test_a_forged_trial_is_found_by_running_it_again(bundle: Path, tmp_path: Path) -> None:
    """Digests, seals and lists are all written anew, as a forger would; what the programs do is not."""
    with zipfile.ZipFile(bundle) as archive:
        contents = {name: archive.read(name) for name in archive.namelist() if name != SUMS}
    name = next(each for each in contents if each.endswith("/client.jsonl"))
    folder = name.rpartition("/")[0]
    forged = contents[name] + b"\n"
    record = json.loads(contents[f"{folder}/run.json"])
    record["artefacts"]["client.jsonl"] = sha256(forged).hexdigest()
    written = json.dumps(record).encode()
    seal = json.dumps({"file": f"{folder}/run.json", "sha256": sha256(written).hexdigest()}).encode() + b"\n"
    new = {name: forged, f"{folder}/run.json": written, "seals.jsonl": contents["seals.jsonl"] + seal}
    write_bundle(tmp_path / "forged.zip", {**contents, **new}, frozenset())
    done = longlook("verify", str(tmp_path / "forged.zip"), "--sample", "all", "--keep", str(tmp_path / "kept"))
    assert done.returncode == 1, done.stdout + done.stderr
    trial = folder.rpartition("/")[2]
    assert re.search(f"1 of [0-9]+ trials differ, the first is {trial}", done.stderr)
    assert re.search(rf"{trial} \(.*\) differs: client\.jsonl", done.stdout)
    assert (tmp_path / "kept" / trial / "run.json").is_file()


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("LONGLOOK_")}
