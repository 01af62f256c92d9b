"""Paths and names that users give as traces → sets of traces, one machine each (docs/guide/infer.md)."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from longlook.core import InputError, RunFolder, compressed_files, files
from longlook.explain import Machine, as_table
from longlook.instruments.infer import logs
from longlook.timeline import (
    COLUMNS,
    MOST_ROWS,
    EventKind,
    Events,
    Rows,
    among,
    columns_of,
    doubts_of,
    find_states,
    kinds_of,
    metadata_of,
    problems_of,
    values_in_doubt,
)

EVENTS = "events.parquet"
_PARQUET, _MACHINE = b"PAR1", b'"schema_version"'
_BEGIN_BYTES = 65_536
VANTAGES = ("client", "server")
_COLUMNS = ("time_ns", "vantage", "kind", "priming", "flow", "name")
_STATES = (EventKind.STATE, EventKind.CONGESTION_STATE)

Named = dict[str, list[tuple[str | None, int]]]


@dataclass(frozen=True)
class TraceSet:
    """Traces that belong together, as rows of `infer.traces.SCHEMA`, or a machine that was inferred before."""

    title: str
    traces: pa.Table | None
    machine: Machine | None = None
    warnings: tuple[str, ...] = ()
    separate: bool = False
    """Whether the set gets a machine of its own: an arm of a run, or a machine already."""


def read_sets(names: Sequence[str], vantage: str | None = None, *, together: bool = False) -> list[TraceSet]:
    """Return the sets that some paths name: one for each arm of a run folder, and one for all other traces.

    `names` are run folders, or one arm of one as RUN:ARM; trials' folders; events.parquet; traces as programs wrote
    them; CSV and JSON-lines logs; machines; `-` for one such file on standard input. `vantage` is the end whose traces
    count, in folders of runs and trials.
    """
    sets = [found for name in names for found in _sets(name, vantage)]
    if together:
        return [joined(sets)]
    others = [one for one in sets if not one.separate]
    return [*(one for one in sets if one.separate), *([joined(others)] if others else [])]


def read_one(name: str, vantage: str | None = None) -> TraceSet:
    """Return everything that one path names, as one set."""
    return joined(list(_sets(name, vantage)))


def joined(sets: Sequence[TraceSet]) -> TraceSet:
    """Return several sets as one."""
    if len(sets) == 1:
        return sets[0]
    if any(one.traces is None for one in sets):
        raise InputError("a machine cannot be joined with others", "name the traces that it was inferred from")
    title = ", ".join(one.title for one in sets[:3]) + (f" and {len(sets) - 3} more" if len(sets) > 3 else "")
    tables = [one.traces for one in sets if one.traces is not None]
    return TraceSet(title, as_table(pa.concat_tables(tables)), warnings=tuple(w for one in sets for w in one.warnings))


def _sets(name: str, vantage: str | None) -> Iterator[TraceSet]:
    path, arm = Path(name), None
    if not path.exists() and ":" in name:
        path, arm = Path(name.rpartition(":")[0]), name.rpartition(":")[2]
    if path == compressed_files.STANDARD_INPUT:
        with compressed_files.as_file(path) as file:
            yield _of_file(file, vantage)
        return
    if not path.exists():
        raise InputError(f"{path}: no such file or folder", "name a trace, a trial's folder or a run folder")
    if (path / "manifest.json").is_file():
        yield from _run_sets(path, arm, vantage)
    elif path.is_dir():
        yield _of_events(path / EVENTS, path.name, vantage)
    else:
        yield _of_file(path, vantage)


def _run_sets(path: Path, arm: str | None, vantage: str | None) -> Iterator[TraceSet]:
    folder = RunFolder.open(path)
    plan = folder.plan
    arms = list(dict.fromkeys(trial.arm for trial in plan.trials))
    if arm is not None and arm not in arms:
        raise InputError(f"{path} has no arm {arm}", f"its arms: {', '.join(arms)}")
    for one in arms if arm is None else [arm]:
        traces: Named = {}
        warnings: list[str] = []
        end = vantage or "server"
        for trial in plan.trials:
            events = folder.trials / trial.id / EVENTS
            if trial.arm == one and events.is_file():
                traces |= _traces(events, f"{trial.id[:10]} ", end)
                warnings += _warnings(events, f"trial {trial.id[:10]}", end)
        if not traces:
            raise InputError(
                f"{path}: no trial of arm {one} has events of its {end}'s states",
                "run the study with [capture] qlog = true or tcp = true, or choose another --vantage",
            )
        title = f"{path.resolve().name}: {one}"
        yield TraceSet(title, as_table(traces), warnings=tuple(warnings), separate=True)


def _of_file(path: Path, vantage: str | None) -> TraceSet:
    """Return the traces or the machine in a file; content says what it is, also of one that is packed."""
    with files.open_named(path) as file:
        begin = file.read(_BEGIN_BYTES)
    if begin.startswith(_PARQUET):
        return _of_events(path, path.parent.name if path.name == EVENTS else path.stem, vantage)
    if not compressed_files.is_packed(begin):
        return _of_plain(path, path, begin)
    begin = _unpacked_begin(path, begin)
    if _MACHINE in begin or logs.is_log(begin, csv=_title(path).endswith(".csv")):
        with compressed_files.unpacked(path, files.LARGEST_BYTES) as plain:
            return _of_plain(plain, path, begin)
    return _of_trace(path)


def _of_plain(path: Path, named: Path, begin: bytes) -> TraceSet:
    """Return the traces or the machine of a file that is not packed, as they are called by the name that it had."""
    title = _title(named)
    stem = title.rpartition(".")[0] or title
    if _MACHINE in begin and (machine := _machine(path)) is not None:
        return TraceSet(stem, None, machine, separate=True)
    csv = logs.is_csv(begin) or title.endswith(".csv")
    if logs.is_log(begin, csv=csv):
        table, warnings = logs.read_log(path, str(named), csv=csv)
        return TraceSet(stem, table, warnings=warnings)
    return _of_trace(path)


def _title(path: Path) -> str:
    """Return a file's name without the ending of what packed it."""
    return path.name.removesuffix(".gz").removesuffix(".zst")


def _unpacked_begin(path: Path, begin: bytes) -> bytes:
    try:
        with pa.input_stream(str(path), compression="gzip" if begin.startswith(b"\x1f") else "zstd") as stream:
            return bytes(stream.read(_BEGIN_BYTES))
    except OSError:
        return b""  # the decoder says what is wrong with it


def _machine(path: Path) -> Machine | None:
    """Return a machine that was written before, or None if the file is something else."""
    try:
        document = json.loads(files.read_named(path))
    except (ValueError, RecursionError):
        return None
    is_machine = isinstance(document, dict) and {"stays", "steps", "states"} <= document.keys()
    return Machine.from_document(document) if is_machine else None


def _of_events(path: Path, title: str, vantage: str | None) -> TraceSet:
    if not path.is_file():
        raise InputError(f"{path}: no such file", "the trial captured no trace: run with [capture] qlog or tcp")
    traces = _traces(path, "", vantage) if vantage else _traces(path, "", "server") or _traces(path, "", "client")
    if not traces:
        raise InputError(f"{path}: no rows of states", "choose another --vantage, or capture traces of the sender")
    ends = [vantage] if vantage else ["server", "client"]
    return TraceSet(title, as_table(traces), warnings=tuple(w for end in ends for w in _warnings(path, str(path), end)))


def _warnings(events: Path, name: str, vantage: str) -> list[str]:
    """Return what one end's traces in a file of events contradict of themselves."""
    doubts = doubts_of(metadata_of(events))
    return [f"{name}: {doubt.sentence}" for doubt in doubts if doubt.vantage == vantage]


def _traces(path: Path, prefix: str, vantage: str) -> Named:
    """Return, per connection of one vantage, the states that it entered; it ends with its last event of any kind."""
    table = Events.read(path, _COLUMNS).table
    chosen = pc.and_(among(table["vantage"], [vantage]), pc.invert(table["priming"]))
    table = table.filter(chosen)
    found: Named = {}
    for flow in pc.unique(table["flow"].cast(pa.string())).to_pylist():
        flows = table["flow"].cast(pa.string())
        rows = table.filter(pc.is_null(flows) if flow is None else pc.equal(flows, flow))
        for kind in _STATES:
            states = rows.filter(among(rows["kind"], [kind]))
            if states.num_rows:
                names = states["name"].cast(pa.string()).to_pylist()
                entered = list(zip(names, states["time_ns"].to_pylist(), strict=True))
                events = [(name, at) for name, at in entered if name is not None]
                found[f"{prefix}{vantage} {flow or 'unknown flow'}"] = [
                    *events,
                    (None, pc.max(rows["time_ns"]).as_py()),
                ]
                break
    return found


def _of_trace(path: Path) -> TraceSet:
    """Return a trace as a program wrote it, decoded and with its states found."""
    from longlook.timeline import decode_to

    with tempfile.TemporaryDirectory(prefix="longlook-infer-") as folder:
        decoded = Path(folder) / EVENTS
        account = decode_to(path, "server", decoded)
        with pq.ParquetFile(decoded) as file:
            if file.metadata.num_rows > MOST_ROWS:
                raise InputError(
                    f"{path} is too long: {file.metadata.num_rows:,} rows, where states are found in {MOST_ROWS:,}",
                    "cut the trace, or find its states by a program of your own and hand over a CSV log",
                )
            rows = Rows.read(lambda name: file.read([name])[name], [*COLUMNS, "connection"])
    traces: Named = {}
    connection = rows["connection"]
    numbers = np.unique(connection).tolist()
    for number in numbers:
        own = rows if len(numbers) == 1 else rows.take(connection == number)
        doubted = values_in_doubt(account, int(number))
        own = own.without(kinds_of(doubted), columns_of(doubted))
        states = find_states(own, str(account.get("format")))
        events: list[tuple[str | None, int]] = [
            (str(state), at) for state, at in zip(states.states, states.times_ns, strict=True)
        ]
        if events:
            traces[f"{path.name} {number}"] = [*events, (None, states.end_ns)]
    if not traces:
        raise InputError(f"{path}: no states can be found in it", "it has no metrics of a sender, or no events at all")
    warnings = tuple(f"{path}: {problem}" for problem in problems_of(account))
    return TraceSet(_title(path).rpartition(".")[0] or path.name, as_table(traces), warnings=warnings)
