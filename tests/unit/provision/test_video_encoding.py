"""Videos with pictures: CMAF segments that begin with a key frame, the manifests beside them, and what is refused."""

import json
import re
from pathlib import Path

import pytest

from longlook.core.digests import file_digest
from longlook.core.errors import InputError, MachineError
from longlook.core.job import Content
from longlook.core.model import Scalar
from longlook.core.paths import cache_dir
from longlook.provision import encoder, mp4, video_encoding
from longlook.provision.encoder import SHA256
from longlook.provision.video import LADDER_BPS, MANIFEST_PATH
from longlook.provision.video_encoding import DASH_PATH, HLS_PATH, LENGTH_S, PART_S, SCENES, SEGMENTS_S
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
    _, segments = mp4.split(data, 0, 0)
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


def test_a_video_in_the_cache_needs_no_encoder(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = prepared()
    (fresh / "encoder").unlink()

    def fetch(into: Path) -> None:
        raise MachineError("the package index is away", "wait")

    monkeypatch.setattr(encoder, "_fetch", fetch)
    assert prepared() == content
    with pytest.raises(MachineError, match="the package index is away"):
        prepared(length="16s")


def test_scenes_have_bitrates_of_their_own(fresh: Path) -> None:
    content = prepared(bitrate="variable", length="24s")
    sizes = [content.expected[f"/video/tiny/{number:03}.m4s"].bytes for number in range(6)]
    bps = [sum(sizes[2 * part : 2 * part + 2]) for part in range(3)]  # a part has 8 s: bytes are bit/s
    most = [200_000 * scene for scene in SCENES["variable"][:3]]
    assert bps[0] == pytest.approx(most[0], rel=0.06) and bps[2] == pytest.approx(most[2], rel=0.06)
    assert 0.5 * most[1] < bps[1] < most[1]  # pictures that hardly move need less
    assert sum(SCENES["variable"]) == pytest.approx(len(SCENES["variable"]))


def test_other_bytes_than_on_record_are_an_error(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(video_encoding, "digests", lambda: {"tiny constant 4s": ["0" * 64] * 8})
    with pytest.raises(MachineError, match="other bytes of part 0 of tiny than are on record"):
        prepared()
    assert not list(fresh.glob("www/[!.]*"))


def test_an_encoder_that_fails_leaves_nothing(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(video_encoding, "PART_S", -1)
    monkeypatch.setattr(video_encoding, "_parts", lambda video: range(1))
    with pytest.raises(MachineError, match="ffmpeg failed with exit code"):
        prepared()
    assert not list(fresh.glob("www/[!.]*"))


def test_every_part_of_every_rung_is_on_record() -> None:
    keys = {f"{rung} {bitrate} {segment_s}s" for rung in LADDER_BPS for bitrate in SCENES for segment_s in SEGMENTS_S}
    assert set(video_encoding.digests()) == keys
    assert {len(found) for found in video_encoding.digests().values()} == {LENGTH_S // PART_S}


def test_the_encoder_is_the_pinned_one() -> None:
    assert file_digest(Path(encoder.encoder().path)) == SHA256 and encoder.is_fetched()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"content": "film"}, "content = 'film'"),
        ({"ladder": "tiny=0.3Mbit"}, "ladder: tiny"),
        ({"ladder": "own=0.3Mbit", "quality": "own"}, "ladder: own"),
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
        mp4.split(data, 0, 0)
