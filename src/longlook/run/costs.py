"""The cost of each kind of trial on this machine, so that a run can say beforehand about how long it will take.

A file in the cache of trials has, by kind of trial, how many ran and the real time that they took one of the jobs. It
is no more than a memory: if it is missing or damaged, nothing is known, and a run that cannot write it loses nothing.
"""

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from longlook.core import Trial, cache_root, codec, files, one_at_a_time, write_json

_FILE, _LOCK = "costs.json", ".costs.lock"
_LARGEST_BYTES = 64 << 20
_MOST_KINDS = 5000
_MOST_COUNTED = 200
"""Trials of a kind beyond which older ones count less, as machines and programs change."""
_DAY_S = 86_400
_EXACT = 64
"""Numbers up to this one are counts, such as the number of objects."""


@dataclass(frozen=True)
class Cost:
    """The trials of a kind: how many, and how long they took one of the jobs together, in s."""

    trials: float
    took_s: float
    day: int = 0  # of the last one, since 1970


@dataclass(frozen=True)
class Forecast:
    """The real time that trials will take. `seconds` is None if no trial of their kinds has run here.

    Trials are `known` if the same load ran over a path of about the same rate, `alike` if another load of the kind of
    workload did; for the `unknown` rest the mean of the others counts.
    """

    seconds: float | None
    known: int = 0
    alike: int = 0
    unknown: int = 0

    @property
    def trials(self) -> int:
        """The number of all trials."""
        return self.known + self.alike + self.unknown

    def in_words(self, condition: str = "") -> str:
        """Return about how long the trials take on this machine, on what condition, and what that rests on."""
        if not self.trials:
            return "no trial is left to run"
        if self.seconds is None:
            return "unknown: no trial of that kind has run here"
        others = ((self.alike, "of loads that have not run here"), (self.unknown, "of kinds that have not run here"))
        doubts = "; ".join(f"{count} trials are {what}" for count, what in others if count)
        about = ", ".join(filter(None, [f"about {print_seconds(self.seconds)} on this machine", condition]))
        return f"{about} ({doubts})" if doubts else about


class Costs:
    """The costs that are known on this machine."""

    def __init__(self, by_kind: Mapping[str, Cost] | None = None) -> None:
        """Take the costs by kind."""
        self._by_kind = dict(by_kind or {})

    @classmethod
    def read(cls) -> "Costs":
        """Return what this machine remembers; nothing if there is no file, or a damaged one."""
        try:
            data = files.read_json(cache_root() / _FILE, _LARGEST_BYTES)
            found = {kind: codec.decode(Cost, each) for kind, each in data.items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return cls()
        sound = {kind: cost for kind, cost in found.items() if cost.trials > 0 and 0 <= cost.took_s < math.inf}
        return cls(sound)

    def forecast(self, trials: Iterable[Trial], engine: str, jobs: int) -> Forecast:
        """Return the time of trials, `jobs` at once, live ones one by one; `engine` runs trials that name none."""
        counts: Counter[str] = Counter()
        total_s, unknown_s = 0.0, []
        for (exact, near), count in Counter(kinds_of(trial, engine) for trial in trials).items():
            at_once = 1 if exact.startswith("live ") else max(1, jobs)
            kind = next((kind for kind in (exact, near) if kind in self._by_kind), None)
            if kind is None:
                counts["unknown"] += count
                unknown_s.append(count / at_once)
                continue
            cost = self._by_kind[kind]
            counts["known" if kind == exact else "alike"] += count
            total_s += count * cost.took_s / cost.trials / at_once
        known = counts["known"] + counts["alike"]
        if not known:
            return Forecast(None if counts else 0.0, unknown=counts["unknown"])
        total_s += sum(unknown_s) * total_s * max(1, jobs) / known
        return Forecast(total_s, **counts)

    def with_more(self, seen: Mapping[str, Cost]) -> "Costs":
        """Return these costs with later ones; if there are too many kinds, the kinds of the last days stay."""
        merged = dict(self._by_kind)
        for kind, new in seen.items():
            old = merged.get(kind, Cost(0, 0.0))
            trials, took_s = old.trials + new.trials, old.took_s + new.took_s
            scale = min(1.0, _MOST_COUNTED / trials)
            merged[kind] = Cost(round(trials * scale, 3), round(took_s * scale, 4), max(old.day, new.day))
        latest = sorted(merged.items(), key=lambda item: item[1].day, reverse=True)[:_MOST_KINDS]
        return Costs(dict(latest))

    def write(self) -> None:
        """Replace the file."""
        write_json(cache_root() / _FILE, codec.encode(self._by_kind))


class CostMeter:
    """Gathers what trials of a session cost, and adds it to what this machine remembers."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._seen: dict[str, Cost] = {}

    def add(self, trial: Trial, engine: str, took_s: float) -> None:
        """Count a trial that ran, not one that the cache had, and the real time in s that it took one of the jobs."""
        today = int(time.time()) // _DAY_S
        for kind in kinds_of(trial, engine):
            old = self._seen.get(kind, Cost(0, 0.0))
            self._seen[kind] = Cost(old.trials + 1, old.took_s + took_s, today)

    def keep(self) -> None:
        """Remember what was seen; if that cannot be written, nothing is."""
        if self._seen:
            root = cache_root()
            with suppress(OSError):
                root.mkdir(parents=True, exist_ok=True)
                with one_at_a_time(root / _LOCK):
                    Costs.read().with_more(self._seen).write()
            self._seen = {}


def kinds_of(trial: Trial, engine: str) -> tuple[str, str]:
    """Return the kind of a trial, and the wider kind that it belongs to.

    The cost depends on the programs, the load and the traces of a trial, and on its rate if the load goes on for a
    time: sizes and rates count by their order of magnitude. Values that rounds draw change little.
    """
    name = trial.engine or engine
    rates = [stage.parameters.get("rate_bps") for stage in (*trial.link.up, *trial.link.down)]
    fastest = max((float(rate) for rate in rates if isinstance(rate, int | float)), default=0.0)
    ends = [(end.stack, end.version) for end in (trial.server, trial.client)]
    exact = [
        ends,
        trial.protocol,
        trial.workload.kind,
        {name: _magnitude(value) for name, value in trial.workload.parameters.items()},
        codec.encode(trial.capture),
        len(trial.flows),
        _magnitude(fastest),
        bool(trial.processors),
    ]
    near = [trial.client.stack, trial.workload.kind, len(trial.flows)]
    return f"{name} {codec.content_hash(exact)}", f"{name} {codec.content_hash(near)}"


def print_seconds(seconds: float) -> str:
    """Return `2 h 5 min`, `3 min` or `40 s`."""
    minutes = round(seconds / 60)
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def _magnitude(value: object) -> object:
    """Return the power of two that a large number is nearest to, as rounds draw values of a few % around a cell."""
    return round(math.log2(value)) if isinstance(value, int | float) and value > _EXACT else value
