"""The readers that `fuzz_readers` tries: of users' files, of what programs under test print, of run folders."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import get_args

from longlook.core import Content, InputError, Run, RunFolder, Study, Trial, codec, read_toml
from longlook.instruments.atlas.claims.dispute import read_dispute
from longlook.instruments.atlas.claims.entries import read_entry
from longlook.instruments.infer.sources import read_one
from longlook.lab.judge import judge
from longlook.lab.observations import FlowCase, FlowKind, Observations, Stopped
from longlook.network import Role, TraceError
from longlook.network.traces import parse_trace
from longlook.provision import HarError, read_har
from longlook.study import make_plan, study_files
from longlook.study.files import read_study
from longlook.timeline import PacketLogError, normalise_trial, read_link_log

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "fuzz" / "corpus"
TRIAL = CORPUS / "trial"
_HEADER = {"schema_version": 2, "study": "demo"}


@dataclass(frozen=True)
class Reader:
    """A reader of files: the contents that it is tried with, and the errors with which it refuses one."""

    suffix: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[Path], object]
    refusals: tuple[type[Exception], ...] = (InputError,)


def _files(*patterns: str) -> Callable[[], list[bytes]]:
    def contents() -> list[bytes]:
        return [path.read_bytes() for pattern in patterns for path in sorted(ROOT.glob(pattern)) if path.is_file()]

    return contents


def _link_log(path: Path) -> None:
    """Read a log and everything that is made from its header; records with other fields are no log of any version."""
    log = read_link_log(path)
    assert log.unix_minus_monotonic_ns is not None
    assert log.verdicts is not None
    if {"verdict", "departure_ns", "due_ns"} <= set(log.records.dtype.names or ()):
        assert len(log.lateness_ns) <= len(log.records)


def _link_trace(path: Path) -> None:
    data = path.read_bytes()
    for role in get_args(Role):
        try:
            parse_trace(data, role, path.name)
        except TraceError:
            continue


def _printed(path: Path) -> None:
    """Read lines as if client and server had both printed them: they become an outcome and a timeline."""
    trial, run = _trial()
    for name in ("client.jsonl", "server.jsonl"):
        (path.parent / name).write_bytes(path.read_bytes())
    normalise_trial(path.parent, trial, run)
    _judged(path.read_bytes())


def _judged(content: bytes) -> None:
    trial, _ = _trial()
    lines, junk = [], []
    for raw in content.splitlines():
        try:
            line = json.loads(raw)
        except (ValueError, RecursionError):  # as the laboratory reads them
            line = None
        if isinstance(line, dict):
            lines.append(line)
        else:
            junk.append(raw[:200].decode(errors="replace"))
    wanted = Content("/www", (("/index.html",),), {})
    for stopped in Stopped:
        for kind in FlowKind:
            for code, printed in ((0, ()), (1, ()), (None, junk)):
                seen = Observations(lines, printed, code)
                judge(FlowCase(trial, wanted, stopped, seen, seen, kind=kind, session=code is None))


def _logged(path: Path) -> None:
    """Read a packet log as a trial's: records are counted, and none is refused."""
    trial, run = _trial()
    for name in ("client.jsonl", "server.jsonl"):
        (path.parent / name).write_bytes((TRIAL / name).read_bytes())
    (path.parent / "link.bin").write_bytes(path.read_bytes())
    normalise_trial(path.parent, trial, run)


@cache
def _trial() -> tuple[Trial, Run]:
    trial, run = (json.loads((TRIAL / name).read_text()) for name in ("trial.json", "run.json"))
    return codec.decode(Trial, trial), codec.decode(Run, run)


@cache
def _studies() -> Mapping[str, Study]:
    """Return the studies that the shipped disputes name."""
    files = study_files()
    named = {entry["study"] for path in _dispute_files() for entry in read_toml(path).get("evidence", [])}
    return {name: read_study(files[name]) for name in sorted(named)}


def _dispute_files() -> list[Path]:
    return sorted((ROOT / "src/longlook/disputes").glob("*.toml"))


def _run_file(name: str) -> Callable[[Path], None]:
    """Return a reader of one file of a run folder that has no seals, so that its content is read whatever it is."""

    def read(path: Path) -> None:
        for other in ("manifest.json", "study.json", "plan.json"):
            content = path.read_bytes() if other == name else _run_files()[other]
            (path.parent / other).write_bytes(content)
        folder = RunFolder.open(path.parent)
        assert folder.study is not None
        assert folder.plan is not None

    return read


@cache
def _run_files() -> Mapping[str, bytes]:
    study = read_study(study_files()["demo"])
    values = {"manifest.json": _HEADER, "study.json": codec.encode(study), "plan.json": codec.encode(make_plan(study))}
    return {name: json.dumps(value, indent=1).encode() for name, value in values.items()}


_MACHINE = b"""{"schema_version": 1, "events": 2, "traces": ["a"], "states": [], "transitions": [], "invariants": [],
"stays": {"trace": [0], "state": [0], "visits": [1], "time_ns": [5]},
"steps": {"trace": [0], "transition": [0], "count": [1]}, "relations": [], "smallest": true}"""

READERS: Mapping[str, Reader] = {
    "study": Reader(".toml", _files("src/longlook/studies/*.toml"), read_study),
    "recording": Reader(".har", _files("src/longlook/workloads/pages/*.har"), read_har, (HarError,)),
    "dispute": Reader(".toml", _files("src/longlook/disputes/*.toml"), lambda path: read_dispute(path, _studies())),
    "entry": Reader(".json", _files("docs/data/entries/cliff.json"), read_entry),
    "link-log": Reader(".bin", _files("fuzz/corpus/linklog/*"), _link_log, (PacketLogError,)),
    "trial-log": Reader(".bin", _files("fuzz/corpus/linklog/*"), _logged, ()),
    "link-trace": Reader(
        ".trace",
        lambda: [
            b"0\n1\n1\n5\n17\n",
            b"1000,20000000,10000000,0,100\n2000,0,5000000,429496729,0\n",
            b"1000,20000000,10000,10000000,0,100,1,5,2\n# pause\n5,20000000,0,10000000,0,100,1,5\n",
            b"0101\n0011 00\n",
        ],
        _link_trace,
    ),
    "printed": Reader(".jsonl", _files("fuzz/corpus/trial/*.jsonl"), _printed, ()),
    "manifest": Reader(".json", lambda: [_run_files()["manifest.json"]], _run_file("manifest.json")),
    "study-of-run": Reader(".json", lambda: [_run_files()["study.json"]], _run_file("study.json")),
    "plan-of-run": Reader(".json", lambda: [_run_files()["plan.json"][:20_000]], _run_file("plan.json")),
    "event-log": Reader(
        ".csv", lambda: [b"trace,time_ns,event\na,1,Slow\na,5,Fast\nb,2,Slow\nb,9,\n"], lambda path: read_one(str(path))
    ),
    "event-lines": Reader(
        ".jsonl",
        lambda: [b'{"trace": "a", "time_ns": 1, "event": "Slow"}\n{"trace": "a", "time_ns": 5, "event": null}\n'],
        lambda path: read_one(str(path)),
    ),
    "machine": Reader(".json", lambda: [_MACHINE], lambda path: read_one(str(path))),
}
