"""Read the manifest of DASH that a player was given: its rungs, and which file is which segment. Pure."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urljoin

_NUMBER = re.compile(r"\$Number(?:%0(\d+)d)?\$")
_DURATION = re.compile(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?")


class ManifestError(Exception):
    """The manifest is none that this client reads."""


@dataclass(frozen=True)
class Manifest:
    """A video: seconds, name → bit/s of its rungs, lowest first, and path → rung and number of its segments."""

    length_s: float
    segment_s: float
    rungs_bps: Mapping[str, int]
    segments: Mapping[str, tuple[str, int]]


def parse_manifest(text: str, path: str) -> Manifest:
    """Return what a manifest at `path` says; ManifestError for one without a template of numbered segments."""
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise ManifestError(f"{path} is no XML: {error}") from error
    template = root.find(".//{*}SegmentTemplate")
    duration = _DURATION.fullmatch(root.get("mediaPresentationDuration", ""))
    if template is None or duration is None:
        raise ManifestError(f"{path} has no SegmentTemplate, or no mediaPresentationDuration")
    try:
        hours, minutes, seconds = (float(part or 0) for part in duration.groups())
        length_s = hours * 3600 + minutes * 60 + seconds
        segment_s = int(template.attrib["duration"]) / int(template.get("timescale", "1"))
        rungs = {each.attrib["id"]: int(each.attrib["bandwidth"]) for each in root.iterfind(".//{*}Representation")}
        count, first = round(length_s / segment_s), int(template.get("startNumber", "1"))
        segments = {
            urljoin(path, _file(template.attrib["media"], name, first + number)): (name, number)
            for name in rungs
            for number in range(count)
        }
    except (KeyError, ValueError, ZeroDivisionError) as error:
        raise ManifestError(f"{path} lacks something, or has no number: {error!r}") from error
    if not rungs:
        raise ManifestError(f"{path} has no Representation")
    return Manifest(length_s, segment_s, dict(sorted(rungs.items(), key=lambda rung: rung[1])), segments)


def _file(media: str, rung: str, number: int) -> str:
    named = media.replace("$RepresentationID$", rung)
    return _NUMBER.sub(lambda match: f"{number:0{match[1] or 1}d}", named)
