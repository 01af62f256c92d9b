"""Videos with pictures: CMAF segments that begin with a key frame, the manifests beside them, and what is refused."""

import json
import re
from pathlib import Path

import pytest

from longlook.core.errors import InputError
from longlook.core.job import Content
from longlook.core.model import Scalar
from longlook.core.paths import cache_dir
from longlook.provision import boxes
from longlook.provision.encoded import DASH_PATH, HLS_PATH
from longlook.provision.encoder import SHA256
from longlook.provision.video import MANIFEST_PATH
from longlook.study.settings import workload_defaults, workload_parameters, workload_setting
from longlook.workloads.video import WORKLOAD


def prepared(**settings: Scalar) -> Content:
    """Return the content of settings as a study file writes them, with pictures."""
    given = {"quality": "tiny", "ladder": "tiny", "length": "8s", "content": "cmaf", **settings}
    written = dict(workload_setting(WORKLOAD, name, value) for name, value in given.items())
    return WORKLOAD.prepare(workload_parameters(WORKLOAD, {**workload_defaults(WORKLOAD), **written}))


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a new cache that has the encoder of the other."""
    encoders = cache_dir() / "encoder"
    encoders.mkdir(parents=True, exist_ok=True)
    (tmp_path / "encoder").symlink_to(encoders)
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))
    return tmp_path


def test_pictures_are_cut_exactly_and_named_by_three_manifests(fresh: Path) -> None:
    content = prepared(segment="2s", length="16s")
    root = Path(content.root)
    (rung,) = json.loads((root / MANIFEST_PATH.removeprefix("/")).read_text())["rungs"]
    data = b"".join((root / each["path"].removeprefix("/")).read_bytes() for each in rung["segments"])
    _, segments = boxes.split(data, 0, 0)
    assert [each.begin for each in segments] == [48_000 * number for number in range(8)]
    assert all(each.begins_with_key and each.duration == 48_000 for each in segments)
    assert [content.expected[each["path"]].bytes for each in rung["segments"]] == [len(each.data) for each in segments]
    assert len(data) * 8 / 16 == pytest.approx(200_000, rel=0.05)
    assert (root / "video/tiny/init.mp4").read_bytes()[4:8] == b"ftyp"
    codec = re.search(r'codecs="(avc1\.[0-9A-F]{6})"', (root / DASH_PATH.removeprefix("/")).read_text())
    assert codec is not None and codec[1] in (root / HLS_PATH.removeprefix("/")).read_text()
    assert (root / "video/tiny/media.m3u8").read_text().count("#EXTINF:2.0") == 8


def test_the_same_bytes_are_made_again_where_a_file_was_cut_off(fresh: Path) -> None:
    content = prepared()
    (Path(content.root) / "video/tiny/001.m4s").write_bytes(b"half")
    assert prepared() == content
    assert (Path(content.root) / "video/tiny/001.m4s").stat().st_size == content.expected["/video/tiny/001.m4s"].bytes


def test_the_encoder_is_the_pinned_one() -> None:
    from longlook.provision import encoder

    assert encoder.encoder().digest == SHA256 and encoder.is_fetched()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"content": "film"}, "content = 'film'"),
        ({"ladder": "tiny=0.3Mbit"}, "ladder: tiny"),
        ({"ladder": "own=0.3Mbit", "quality": "own"}, "ladder: own"),
        ({"bitrate": "variable"}, "bitrate = variable"),
        ({"segment": "3s", "length": "9s"}, "segment = 3s"),
        ({"length": "68s"}, "length = 68s"),
        ({"live": "4s"}, "live or chunk"),
    ],
)
def test_what_has_no_pictures_is_refused(settings: dict[str, Scalar], problem: str) -> None:
    with pytest.raises(InputError) as error:
        prepared(**settings)
    assert problem in error.value.message


@pytest.mark.parametrize("data", [b"half", b"\0\0\0\x20moof", b"\0\0\0\x04moof"])
def test_what_is_no_file_of_boxes_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        boxes.split(data, 0, 0)
