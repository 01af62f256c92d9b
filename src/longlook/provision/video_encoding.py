"""Makes a video of moving pictures by ffmpeg: CMAF segments of each rung, and the manifests of DASH and HLS.

The pictures come in parts of PART_S, each encoded by itself by one thread, so that a short video needs its first parts
alone. The same encoder makes the same bytes whatever the processor offers: docs/reference/video.md has what that takes.
"""

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from longlook.core import PICTURES, Content, MachineError, Scalar
from longlook.provision import mp4
from longlook.provision.content import Writer, make_content
from longlook.provision.encoder import SHA256, encoder
from longlook.provision.progress import report_step
from longlook.provision.video import LADDER_BPS, MANIFEST_PATH, Video

FPS = 24
PART_S = 8
LENGTH_S = 64
"""The length of all pictures that there are, in seconds."""

SCENES = {
    "constant": (1.0,) * 8,
    "variable": (1.0, 0.5, 1.5, 0.7, 1.3, 0.4, 1.6, 1.0),
}
"""The bitrate of each part as a multiple of its rung's, which is the mean of all parts. The law is ours."""

SEGMENTS_S = (2, 4)
FORMAT = 1
"""Has to be raised whenever the same video gives other bytes for a reason that `_arguments` does not show."""

DASH_PATH, HLS_PATH = "/video/manifest.mpd", "/video/master.m3u8"
RECORD = Path(__file__).with_name("video_encoding.json")
"""The digests of all parts of all rungs; scripts/pin_videos.py writes it."""

_TICKS = 24_000  # in a second
_CONTAINER_BPS = 1_200  # what boxes cost, which is left out of the encoder's rate


def encoded_content(video: Video) -> Content:
    """Return the video's files from the cache, or made; the only phase is our own player's manifest.

    Raise MachineError if they have to be made, and the encoder cannot be fetched, fails, or makes something that is not
    CMAF.
    """
    resolved: dict[str, Scalar] = {
        "encoder": SHA256,  # the program itself is needed only where files have to be made
        "arguments": json.dumps([_arguments(name, part, video) for name in video.rungs for part in _parts(video)]),
        "length_ns": video.length_ns,
        "format": FORMAT,
    }
    return make_content("encoded", resolved, lambda to: _write(to, video))


def is_encoded(content: Content) -> bool:
    """Return whether the encoder made files of a content, now or when it came into the cache."""
    return DASH_PATH in content.expected


def _source(part: int, width: int, height: int) -> str:
    """Return the pictures of a part as a graph of filters whose bytes depend on no processor."""
    large, eighth = f"{width}x{height}", f"{width // 8}x{height // 8}"
    enlarged = f"scale={width}:{height}:flags=neighbor+bitexact,format=yuv420p"
    kinds = (
        f"testsrc2=s={large}:r={FPS}",
        f"life=s={eighth}:r={FPS}:mold=10:ratio=0.3:seed={7 + part}:death_color=#C83232:life_color=#00ff00,{enlarged}",
        f"cellauto=s={eighth}:r={FPS}:rule=110:seed={5 + part},{enlarged}",
    )
    return f"{kinds[part % len(kinds)]},noise=alls=12:allf=t+u:all_seed={100 + part}"


def _parts(video: Video) -> range:
    return range(-(-video.length_ns // (PART_S * 1_000_000_000)))


def _arguments(rung: str, part: int, video: Video) -> list[str]:
    frames = video.segment_ns * FPS // 1_000_000_000
    bitrate_bps = round(LADDER_BPS[rung] * SCENES[video.bitrate][part]) - _CONTAINER_BPS
    return [
        *("-cpuflags", "0", "-v", "error", "-nostdin", "-filter_threads", "1"),
        *("-f", "lavfi", "-i", _source(part, *PICTURES[rung]), "-t", str(PART_S), "-pix_fmt", "yuv420p"),
        *("-bitexact", "-threads", "1", "-c:v", "libx264", "-preset", "superfast", "-bf", "0"),
        *("-g", str(frames), "-keyint_min", str(frames), "-sc_threshold", "0"),
        *_rate(rung, bitrate_bps, video),
        *("-video_track_timescale", str(_TICKS), "-f", "mp4"),
        *("-movflags", "cmaf+frag_keyframe+empty_moov+default_base_moof+skip_trailer", "pipe:1"),
    ]


def _rate(rung: str, bitrate_bps: int, video: Video) -> tuple[str, ...]:
    """Return what keeps a part at its bitrate. The initialisation has no word of it if parts have their own."""
    if video.bitrate == "constant":
        limits = ("-minrate", str(bitrate_bps), "-maxrate", str(bitrate_bps), "-bufsize", str(bitrate_bps // 2))
        return ("-b:v", str(bitrate_bps), *limits, "-x264-params", "cpu-independent=1:nal-hrd=cbr")
    most_bps = round(LADDER_BPS[rung] * max(SCENES["variable"]))
    within = ("-maxrate", str(most_bps), "-bufsize", str(most_bps // 2), "-write_btrt", "0")
    return ("-b:v", str(bitrate_bps), *within, "-x264-params", "cpu-independent=1:ratetol=0.1:qcomp=0.3")


@dataclass(frozen=True)
class _Track:
    init: bytes
    segments: list[mp4.MediaSegment]

    @property
    def codec(self) -> str:
        """The codec string of RFC 6381, from the profile and level in the initialisation."""
        at = self.init.index(b"avcC") + 5
        return f"avc1.{self.init[at : at + 3].hex().upper()}"


def _track(rung: str, video: Video) -> _Track:
    segment = round(video.segment_ns * _TICKS / 1e9)
    parts = _parts(video)
    report_step(f"encoding {rung}, {len(parts) * PART_S} s of pictures")
    files = _encoded(rung, video)
    _compare(rung, video, files)
    inits, found = set(), list[mp4.MediaSegment]()
    try:
        for part, data in zip(parts, files, strict=True):
            init, segments = mp4.split(data, part * PART_S * _TICKS, len(found))
            inits.add(init)
            found += segments
    except ValueError as error:
        raise _unusable(rung, str(error)) from error
    for number, each in enumerate(found):
        if not each.begins_with_key or (each.begin, each.duration) != (number * segment, segment):
            raise _unusable(
                rung, f"segment {number} at {each.begin}, {each.duration} long, key: {each.begins_with_key}"
            )
    if len(inits) != 1 or len(found) * segment != len(parts) * PART_S * _TICKS:
        raise _unusable(rung, f"{len(inits)} initialisations, {len(found)} segments")
    return _Track(inits.pop(), found[: video.length_ns // video.segment_ns])


def _compare(rung: str, video: Video, files: list[bytes]) -> None:
    """Raise MachineError if the encoder made other bytes than on record."""
    for part, (data, recorded) in enumerate(zip(files, digests()[record_key(rung, video)], strict=False)):
        if (made := hashlib.sha256(data).hexdigest()) != recorded:
            raise MachineError(
                f"this machine's encoder made other bytes of part {part} of {rung} than are on record: {made[:16]} in "
                f"place of {recorded[:16]}",
                'report it with the name of the processor; `content = "noise"` needs no encoder',
            )


def record_key(rung: str, video: Video) -> str:
    """Return the name of a rung's row among the recorded digests."""
    return f"{rung} {video.bitrate} {video.segment_ns // 1_000_000_000}s"


@cache
def digests() -> Mapping[str, list[str]]:
    """Return the SHA-256 of what the encoder made of each part of each rung, by `record_key`."""
    found: dict[str, list[str]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def make_digests(video: Video) -> dict[str, list[str]]:
    """Encode all rungs of a video and return their digests, as `digests` has them."""
    return {
        record_key(rung, video): [hashlib.sha256(data).hexdigest() for data in _encoded(rung, video)]
        for rung in video.rungs
    }


def _unusable(rung: str, what: str) -> MachineError:
    return MachineError(
        f"the encoder made no CMAF of {rung}: {what}", 'report it; `content = "noise"` needs no encoder'
    )


def _encoded(rung: str, video: Video) -> list[bytes]:
    """Return what the encoder makes of each part of a rung. Its program is compared with its digest once."""
    program = encoder().path
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda part: _encode(program, _arguments(rung, part, video)), _parts(video)))


def _encode(program: str, arguments: list[str]) -> bytes:
    done = subprocess.run((program, *arguments), capture_output=True, check=False)
    if done.returncode != 0:
        raise MachineError(
            f"ffmpeg failed with exit code {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}",
            "free memory and try again",
        )
    return done.stdout


def _write(to: Writer, video: Video) -> tuple[tuple[str, ...], ...]:
    rungs, tracks = [], dict[str, _Track]()
    for name, bitrate_bps in video.rungs.items():
        track = tracks[name] = _track(name, video)
        to.add(f"/video/{name}/init.mp4", iter([track.init]))
        listed = []
        for number, segment in enumerate(track.segments):
            path = f"/video/{name}/{number:03}.m4s"
            to.add(path, iter([segment.data]))
            listed.append({"path": path, "bytes": len(segment.data)})
        rungs.append({"name": name, "bitrate_bps": bitrate_bps, "segments": listed})
        to.add(f"/video/{name}/media.m3u8", _text(_playlist(video, len(listed))))
    manifest = {"length_ns": video.length_ns, "segment_ns": video.segment_ns, "rungs": rungs}
    to.add(MANIFEST_PATH, _text(json.dumps(manifest, separators=(",", ":")) + "\n"))
    to.add(DASH_PATH, _text(_dash(video, tracks)))
    to.add(HLS_PATH, _text(_master(video, tracks)))
    return ((MANIFEST_PATH,),)


def _text(text: str) -> Iterator[bytes]:
    yield text.encode()


def _dash(video: Video, tracks: Mapping[str, _Track]) -> str:
    length_s, segment_s = video.length_ns / 1e9, video.segment_ns / 1e9
    rungs = "".join(
        f'   <Representation id="{name}" bandwidth="{bitrate_bps}" codecs="{tracks[name].codec}" '
        f'width="{PICTURES[name][0]}" height="{PICTURES[name][1]}" frameRate="{FPS}"/>\n'
        for name, bitrate_bps in video.rungs.items()
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011" type="static" '
        f'mediaPresentationDuration="PT{length_s:g}S" minBufferTime="PT{segment_s:g}S">\n'
        ' <Period id="0" start="PT0S">\n'
        '  <AdaptationSet contentType="video" mimeType="video/mp4" segmentAlignment="true" startWithSAP="1">\n'
        f'   <SegmentTemplate timescale="{_TICKS}" duration="{round(segment_s * _TICKS)}" startNumber="0" '
        'initialization="$RepresentationID$/init.mp4" media="$RepresentationID$/$Number%03d$.m4s"/>\n'
        f"{rungs}  </AdaptationSet>\n </Period>\n</MPD>\n"
    )


def _playlist(video: Video, count: int) -> str:
    segment_s = video.segment_ns / 1e9
    segments = "".join(f"#EXTINF:{segment_s:.6f},\n{number:03}.m4s\n" for number in range(count))
    head = f"#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:{segment_s:.0f}\n#EXT-X-MEDIA-SEQUENCE:0\n"
    head += '#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-MAP:URI="init.mp4"\n'
    return f"{head}{segments}#EXT-X-ENDLIST\n"


def _master(video: Video, tracks: Mapping[str, _Track]) -> str:
    lines = "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n"
    for name in video.rungs:
        sizes = [len(segment.data) * 8e9 / video.segment_ns for segment in tracks[name].segments]
        width, height = PICTURES[name]
        lines += (
            f"#EXT-X-STREAM-INF:BANDWIDTH={max(sizes):.0f},AVERAGE-BANDWIDTH={sum(sizes) / len(sizes):.0f},"
            f'CODECS="{tracks[name].codec}",RESOLUTION={width}x{height},FRAME-RATE={FPS}.000\n{name}/media.m3u8\n'
        )
    return lines
