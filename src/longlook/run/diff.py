"""The first difference between two trials, or between the trials of two runs: a packet, or else a file."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from longlook.core import TIMELINE, InputError, Run, Trial, codec, files
from longlook.run.link_diff import BEHAVIOUR, Arrivals, FirstDifference, first_difference
from longlook.run.verification import LINK_LOG, RUN_RECORD
from longlook.timeline import PacketLog, PacketLogError, read_link_log

_FIRST = (LINK_LOG, "client.jsonl", "server.jsonl")  # the others come in order of their names
_SHOWN_CHARACTERS, _SHOWN_BEFORE = 300, 100  # of a line that differs, and of them before the difference


@dataclass(frozen=True)
class DatedEvent:
    """An event that a program dated. `time_ns` after the trial's start; `text`: event, stamp and its subject."""

    time_ns: int
    vantage: str  # client | server
    text: str


@dataclass(frozen=True)
class FileDifference:
    """The first place where a file differs: a line (from 1) with both texts, or a byte (from 0)."""

    name: str
    only_in: str | None = None  # "A" or "B" where the other has no such file
    line: int | None = None
    byte: int | None = None
    left: str | None = None
    right: str | None = None


@dataclass(frozen=True)
class TrialDifference:
    """Two trial folders. Nothing differs if `files` is empty.

    `first` is the first difference of the packet logs; `behaviour` is the first in time, size or fate, which is later
    when only ports or sequence numbers differ before.
    """

    trial_id: str
    label: str
    left: str
    right: str
    files: tuple[str, ...] = ()  # that differ, in the order of `first_file`
    packets: tuple[int, ...] = ()  # in each log
    started_apart_ns: int = 0  # B's start less A's; all other times count from each one's own
    settings: tuple[str, ...] = ()  # of the link, that differ
    first: FirstDifference | None = None
    behaviour: FirstDifference | None = None
    left_events: tuple[DatedEvent, ...] = ()
    right_events: tuple[DatedEvent, ...] = ()
    first_file: FileDifference | None = None
    damage: str | None = None  # why the packet logs could not be compared

    @property
    def identical(self) -> bool:
        """Whether every file is the same."""
        return not self.files


@dataclass(frozen=True)
class RunDifference:
    """Trials of both runs, and how many only one of them has."""

    trials: tuple[TrialDifference, ...]
    only_left: int = 0
    only_right: int = 0

    @property
    def differing(self) -> list[TrialDifference]:
        """Return the trials that are not the same."""
        return [trial for trial in self.trials if not trial.identical]


def compare(left: Path, right: Path, context: int) -> RunDifference:
    """Compare two trial folders, or two run folders trial by trial, by id; InputError if they are neither."""
    kinds = [_kind(path) for path in (left, right)]
    if kinds[0] != kinds[1]:
        raise InputError(f"{left} is a {kinds[0]} folder, {right} a {kinds[1]} folder", "name two of a kind")
    if kinds[0] == "trial":
        return RunDifference((compare_trials(left, right, context),))
    names = [{path.parent.name for path in (run / "trials").glob("[!.]*/run.json")} for run in (left, right)]
    shared = sorted(names[0] & names[1])
    if not shared:
        raise InputError(f"{left} and {right} have no finished trial in common", "compare two runs of one study")
    pairs = [(left / "trials" / name, right / "trials" / name) for name in shared]
    found = tuple(compare_trials(*pair, context) for pair in pairs)
    return RunDifference(found, len(names[0] - names[1]), len(names[1] - names[0]))


def _kind(path: Path) -> str:
    if (path / RUN_RECORD).is_file():
        return "trial"
    if (path / "manifest.json").is_file() and (path / "trials").is_dir():
        return "run"
    raise InputError(
        f"{path} is neither a trial's folder (no run.json) nor a run folder (no manifest.json)",
        "name a folder of a run's trials/ or divergent/, or a folder below runs/",
    )


def compare_trials(left: Path, right: Path, context: int) -> TrialDifference:
    """Compare two finished trials; `context` packets and events on both sides of the first difference."""
    one, other = _run(left), _run(right)
    trial_id, label = _label(left, one)
    names = _differing(left, right)
    if not names:
        return TrialDifference(trial_id, label, str(left), str(right))
    link: Mapping[str, Any] = {}
    damage = None
    if LINK_LOG in names and all((folder / LINK_LOG).is_file() for folder in (left, right)):
        try:
            logs = read_link_log(left / LINK_LOG), read_link_log(right / LINK_LOG)
            link = _link(logs, (one, other), context)
        except PacketLogError as error:
            damage = str(error)
    first: FirstDifference | None = link.get("first")
    if first is None:
        return TrialDifference(
            trial_id,
            label,
            str(left),
            str(right),
            names,
            first_file=_file(left, right, names[0]),
            damage=damage,
            **link,
        )
    moment = (link["behaviour"] or first).time_ns
    return TrialDifference(
        trial_id,
        label,
        str(left),
        str(right),
        names,
        started_apart_ns=other.started_unix_ns - one.started_unix_ns,
        left_events=events_around(left, one.started_unix_ns, moment, context),
        right_events=events_around(right, other.started_unix_ns, moment, context),
        **link,
    )


def _link(logs: tuple[PacketLog, PacketLog], runs: tuple[Run, Run], context: int) -> dict[str, Any]:
    left, right = (Arrivals(log, run.started_unix_ns) for log, run in zip(logs, runs, strict=True))
    configs = [log.header.get("config", {}) for log in logs]
    return {
        "packets": (len(left), len(right)),
        "settings": tuple(
            key for key in sorted({*configs[0], *configs[1]}) if configs[0].get(key) != configs[1].get(key)
        ),
        "first": first_difference(left, right, context),
        "behaviour": first_difference(left, right, context, BEHAVIOUR),
    }


def events_around(folder: Path, started_unix_ns: int, moment_ns: int, context: int) -> tuple[DatedEvent, ...]:
    """Return what client and server dated around a moment of the trial: the last before it and the first after it."""
    events = sorted(_dated_events(folder, started_unix_ns), key=lambda event: event.time_ns)
    before = [event for event in events if event.time_ns <= moment_ns]
    return tuple(before[-context:] if context else []) + tuple(events[len(before) : len(before) + context])


def _dated_events(folder: Path, started_unix_ns: int) -> Iterator[DatedEvent]:
    for vantage in ("client", "server"):
        path = folder / f"{vantage}.jsonl"
        for raw in files.read_bytes(path).splitlines() if path.is_file() else []:
            try:
                line = json.loads(raw)
            except ValueError:
                continue  # half a line of a crashed program; the comparison of files shows it
            if not isinstance(line, dict):
                continue
            about = line.get("path") or line.get("url") or line.get("remote" if vantage == "server" else "local") or ""
            for key, value in line.items():
                if key.startswith("t_") and key.endswith("_ns") and isinstance(value, int):
                    text = f"{line.get('event')} {key[2:-3].replace('_', ' ')} {about}".strip()
                    yield DatedEvent(value - started_unix_ns, vantage, text)


def _run(folder: Path) -> Run:
    try:
        return codec.decode(Run, files.read_json(folder / RUN_RECORD))
    except (OSError, ValueError) as error:
        raise InputError(f"{folder / RUN_RECORD}: {error}", "name the folder of a finished trial") from error


def _label(folder: Path, run: Run) -> tuple[str, str]:
    try:
        trial = codec.decode(Trial, files.read_json(folder / "trial.json"))
    except (OSError, ValueError):
        return run.trial_id, run.trial_id  # the trial died before it was written
    cell = ", ".join(f"{name}={level}" for name, level in trial.cell.items())
    return run.trial_id, f"{trial.arm} round {trial.round + 1} ({cell})"


def _differing(left: Path, right: Path) -> tuple[str, ...]:
    """Return the names of files that are not the same, in the order in which to look at them; `run.json` last."""
    found = [
        {name: files.regular(folder / name) for name, _ in files.below(folder) if name != TIMELINE}
        for folder in (left, right)
    ]
    names = {*found[0], *found[1]}
    differing = [
        name for name in names if not all(name in each for each in found) or _differs(*(e[name] for e in found))
    ]

    def rank(name: str) -> tuple[bool, int, str]:
        return name == RUN_RECORD, _FIRST.index(name) if name in _FIRST else len(_FIRST), name

    return tuple(sorted(differing, key=rank))


def _differs(left: Path, right: Path) -> bool:
    return left.stat().st_size != right.stat().st_size or files.digest(left) != files.digest(right)


def _file(left: Path, right: Path, name: str) -> FileDifference:
    for side, folder, other in (("A", left, right), ("B", right, left)):
        if (folder / name).is_file() and not (other / name).is_file():
            return FileDifference(name, only_in=side)
    contents = [files.read_bytes(folder / name) for folder in (left, right)]
    byte = _first_byte(*contents)
    if any(b"\0" in content for content in contents):
        return FileDifference(name, byte=byte)
    line = contents[0].count(b"\n", 0, byte)
    column = byte - (contents[0].rfind(b"\n", 0, byte) + 1)
    shown = [_line(content, line, column) for content in contents]
    return FileDifference(name, line=line + 1, byte=byte, left=shown[0], right=shown[1])


def _first_byte(left: bytes, right: bytes) -> int:
    both = min(len(left), len(right))
    differs = np.frombuffer(left, np.uint8, both) != np.frombuffer(right, np.uint8, both)
    return int(np.argmax(differs)) if differs.any() else both


def _line(content: bytes, number: int, column: int) -> str | None:
    """Return the text of a line around a column; None behind the last line."""
    lines = content.split(b"\n")
    if number >= len(lines) or (number == len(lines) - 1 and not lines[number]):
        return None
    begin = max(0, column - _SHOWN_BEFORE)
    text = lines[number][begin : begin + _SHOWN_CHARACTERS].decode(errors="replace")
    return f"{'…' if begin else ''}{text}{'…' if begin + _SHOWN_CHARACTERS < len(lines[number]) else ''}"
