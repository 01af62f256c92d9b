"""Recorded pages by their digest: in the cache, and in the run folders whose trials load them.

Studies, plans and trials hold the digest alone. A run folder has copies, so that it needs neither the HAR nor the
cache; they have sizes, order and origins, and none of the cookies, paths and contents that a HAR holds.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from longlook.core import InputError, Plan, codec, files, kept_files, nearest, paths
from longlook.provision.recorded.har import HarError, Recording, read_har
from longlook.provision.recorded.page import RecordedPage, recorded_page

FOLDER = "pages"
"""The folder's name in the cache and in a run folder."""
WORKLOAD, PARAMETER = "recorded_page", "har"
"""The workload that loads recorded pages, and its parameter, which names one."""

_KEPT = "a recorded page", "make room, or move the cache: LONGLOOK_CACHE"


def shipped() -> dict[str, Path]:
    """Return the recordings that come with Longlook, by name."""
    folder = Path(__file__).parents[2] / "workloads" / "pages"
    return {path.stem: path for path in sorted(folder.glob("*.har"))}


def is_path(name: str) -> bool:
    """Whether a name can only be a file's: also of one that is gone."""
    return "/" in name or name.endswith((".har", ".har.gz", ".har.zst"))


def find(name: str, beside: Path) -> Path:
    """Return the file of a name, or of a path that counts from the folder `beside`; HarError if no such file exists."""
    known = shipped()
    if name in known:
        return known[name]
    path = beside / name
    if not path.exists() and not is_path(name):
        choices = f"known: {', '.join(known)}; or the path of a HAR"
        raise HarError(f"no recorded page of this name; {choices}{nearest(name, list(known))}")
    return path.absolute()


def keep(path: Path) -> tuple[str, RecordedPage]:
    """Read a HAR into the cache; return the digest of its page, and the page. HarError if it cannot be used."""
    return keep_recording(read_har(path))


def keep_recording(recording: Recording) -> tuple[str, RecordedPage]:
    """Put the page of a recording into the cache; as `keep`."""
    page = recorded_page(recording)
    data = codec.canonical(codec.encode(page)).encode()
    return kept_files.keep(_cache(), data, *_KEPT), page


def load(digest: str) -> RecordedPage:
    """Return the page of a digest from the cache. Raise InputError if it is missing or damaged."""
    path = kept_files.file_of(_cache(), digest)
    try:
        data = files.read_bytes(path)
    except OSError as error:
        raise InputError(f"the recorded page {digest} is not there: {path}", "name its HAR again in the study") from (
            error
        )
    if kept_files.digest_of(data) != digest:
        raise InputError(f"the recorded page {path} is damaged", "remove it, and name its HAR again")
    return codec.decode(RecordedPage, json.loads(data))


def lay(plan: Plan, run: Path) -> None:
    """Copy the pages that a plan's trials load into a run folder that lacks them."""
    for digest in _named(plan):
        target = kept_files.file_of(run / FOLDER, digest)
        if not target.exists():
            load(digest)  # raises if it is not there
            kept_files.write(target, files.read_bytes(kept_files.file_of(_cache(), digest)), *_KEPT)


def adopt(run: Path) -> None:
    """Put the pages of a run folder that the cache lacks into it, so that its study can be planned again."""
    kept_files.adopt(run / FOLDER, _cache(), *_KEPT)


def _named(plan: Plan) -> Iterable[str]:
    loads = (trial.workload for trial in plan.trials if trial.workload.kind == WORKLOAD)
    return sorted({str(workload.parameters[PARAMETER]) for workload in loads})


def _cache() -> Path:
    return paths.cache_dir() / FOLDER
