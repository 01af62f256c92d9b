"""The video that a player plays: its ladder, its sizes, its manifest, and what is refused."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from longlook.core.errors import InputError
from longlook.core.job import Content
from longlook.core.model import Scalar
from longlook.provision.video import LADDER_BPS, MANIFEST_PATH, Video
from longlook.study.settings import workload_defaults, workload_parameters, workload_setting
from longlook.workloads.video import WORKLOAD, rungs_of


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))
    return tmp_path


def prepared(**settings: Scalar) -> Content:
    """Return the content of settings as a study file writes them."""
    written = dict(workload_setting(WORKLOAD, name, value) for name, value in settings.items())
    return WORKLOAD.prepare(workload_parameters(WORKLOAD, {**workload_defaults(WORKLOAD), **written}))


def manifest_of(content: Content) -> Mapping[str, object]:
    found: Mapping[str, object] = json.loads((Path(content.root) / MANIFEST_PATH.removeprefix("/")).read_text())
    return found


def test_a_fixed_quality_needs_the_files_of_its_rung_alone() -> None:
    content = prepared(quality="medium", watch="30s")
    assert content.phases == ((MANIFEST_PATH,),)
    assert set(content.expected) == {MANIFEST_PATH, *(f"/video/medium/{number:03}.m4s" for number in range(4))}
    assert {size.bytes for path, size in content.expected.items() if path != MANIFEST_PATH} == {300_000}
    assert len({size.digest for size in content.expected.values()}) == 5
    assert content.video == {
        "manifest": MANIFEST_PATH, "quality": "medium", "watch_s": 30, "start_s": 0, "resume_s": 0, "buffer_s": 30,
        "live_s": 0,
    }  # fmt: skip
    manifest = manifest_of(content)
    assert (manifest["length_ns"], manifest["segment_ns"]) == (3_600_000_000_000, 4_000_000_000)


def test_a_rule_needs_the_whole_ladder() -> None:
    content = prepared(quality="bola", ladder="tiny, medium, extra=0.9Mbit", segment="2s", length="60s")
    rungs = manifest_of(content)["rungs"]
    assert isinstance(rungs, list)
    assert [(rung["name"], rung["bitrate_bps"]) for rung in rungs] == [
        ("tiny", 200_000), ("medium", 600_000), ("extra", 900_000),
    ]  # fmt: skip
    for rung in rungs:
        for segment in rung["segments"]:
            assert content.expected[segment["path"]].bytes == segment["bytes"] == rung["bitrate_bps"] // 4


def test_variable_sizes_vary_alike_on_every_rung_and_have_the_declared_mean() -> None:
    video = Video(LADDER_BPS, 4_000_000_000, 3_600_000_000_000, "variable")
    for rung, bitrate_bps in LADDER_BPS.items():
        sizes = video.sizes(rung)
        mean = bitrate_bps / 2
        assert sum(sizes) / len(sizes) == pytest.approx(mean, abs=1)
        assert max(sizes) < 2 * mean
        assert max(sizes) > 1.2 * mean > 0.9 * mean > min(sizes)
        assert sizes == [pytest.approx(size * bitrate_bps / 200_000, abs=50) for size in video.sizes("tiny")]


def test_a_segment_in_chunks_has_a_file_for_each_of_one_size() -> None:
    content = prepared(quality="medium", live="2s", chunk="0.5s")
    assert content.video is not None and content.video["live_s"] == 2
    manifest = manifest_of(content)
    assert (manifest["segment_ns"], manifest["chunks"]) == (500_000_000, 8)
    (rung,) = manifest["rungs"]  # type: ignore[misc]
    assert len(rung["segments"]) == 4 * 8
    assert {segment["bytes"] for segment in rung["segments"]} == {37_500}


def test_chunks_of_a_segment_share_its_complexity() -> None:
    whole = Video({"one": 4_000_000}, 4_000_000_000, 60_000_000_000, "variable")
    parts = Video(whole.rungs, whole.segment_ns, whole.length_ns, "variable", chunks=4)
    sizes = parts.sizes("one")
    assert len(sizes) == 4 * len(whole.sizes("one"))
    assert [4 * size for size in sizes[::4]] == [pytest.approx(size, abs=2) for size in whole.sizes("one")]
    assert len(set(sizes[:4])) == 1


def test_a_ladder_of_one_rung_is_one() -> None:
    assert rungs_of("only=1Mbit") == {"only": 1_000_000}


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"quality": "hd4320"}, "no rung of the ladder, and no rule"),
        ({"quality": "tiny", "ladder": "tiny, tiny"}, "'tiny' is no rung"),
        ({"quality": "tiny", "ladder": "tiny, bola"}, "'bola' is no rung"),
        ({"quality": "tiny", "ladder": "medium, tiny"}, "medium, tiny"),
        ({"quality": "tiny", "ladder": "tiny, more"}, "'more' has no bitrate"),
        ({"quality": "tiny", "ladder": "tiny=1GB"}, "tiny: "),
        ({"quality": "tiny", "ladder": "tiny=900Mbit"}, "900000000 bit/s"),
        ({"quality": "tiny", "bitrate": "wild"}, "bitrate = 'wild'"),
        ({"quality": "tiny", "length": "10s"}, "length = 10s is not whole segments of 4s"),
        ({"quality": "tiny", "buffer": "3s"}, "segment = 4s is never reached"),
        ({"quality": "tiny", "start": "29s"}, "start = 29s is never reached: a buffer of 30s holds 28s"),
        ({"quality": "tiny", "chunk": "1s"}, "chunk = 1s of a video that is not live"),
        ({"quality": "tiny", "chunk": "1s", "live": "2s", "connections": 2}, "or over 2 connections"),
        ({"quality": "tiny", "chunk": "1.5s", "live": "2s"}, "segment = 4s is not whole chunks of 1.5s"),
        ({"quality": "tiny", "live": "61s", "length": "60s"}, "live = 61s is more than the length, 60s"),
        ({"quality": "high", "ladder": "high=200Mbit", "segment": "60s", "buffer": "60s"}, "6000 MB"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Scalar], problem: str) -> None:
    with pytest.raises(InputError) as error:
        prepared(**settings)
    assert problem in error.value.message
