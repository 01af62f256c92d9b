"""How much was asked of each host within the last hour, over all runs of this cache."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from longlook.core import LonglookError, MachineError, one_at_a_time, paths, write_json

HOUR_S = 3600.0


class BudgetSpentError(LonglookError):
    """A host was asked as much as it may be within an hour; finished rounds are kept."""

    exit_code = MachineError.exit_code


@dataclass(frozen=True)
class Spent:
    """The sum of all that a host was asked within the last hour; in `until_s` the oldest of it is an hour old."""

    requests: int
    bytes: int
    until_s: float


class Budget:
    """The requests and bytes that a host may be asked for within an hour. `clock` returns seconds since 1970."""

    def __init__(self, host: str, requests: int, size_bytes: int, clock: Callable[[], float] = time.time) -> None:
        self._host, self._requests, self._bytes, self._clock = host, requests, size_bytes, clock

    def spent(self) -> Spent:
        """Return what was asked for within the last hour."""
        with self._uses() as uses:
            return self._sum(uses)

    def take(self, requests: int, expected_bytes: int) -> None:
        """Note requests that are about to be made; BudgetSpentError if they or their bytes are too many."""
        with self._uses() as uses:
            spent = self._sum(uses)
            over = spent.requests + requests > self._requests
            if over or spent.bytes + expected_bytes > self._bytes:
                what = f"{self._requests} requests" if over else f"{self._bytes / 1e6:g} MB"
                raise BudgetSpentError(
                    f"{self._host} was asked for as much as it may be within an hour: {what}",
                    f"in {spent.until_s / 60:.0f} min the first of it is an hour old; or --most-requests, --most-bytes",
                )
            uses.append((self._clock(), requests, 0))

    def note_bytes(self, size_bytes: int) -> None:
        """Note bytes that have passed."""
        with self._uses() as uses:
            uses.append((self._clock(), 0, size_bytes))

    def _sum(self, uses: list[tuple[float, int, int]]) -> Spent:
        oldest = min((at for at, _, _ in uses), default=self._clock())
        until_s = max(0.0, oldest + HOUR_S - self._clock())
        return Spent(sum(requests for _, requests, _ in uses), sum(size for _, _, size in uses), until_s)

    @contextmanager
    def _uses(self) -> Iterator[list[tuple[float, int, int]]]:
        """Yield the uses of the last hour, and write them again; one process at a time."""
        folder = paths.state_dir() / "sites"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{self._host}.json"
        with one_at_a_time(folder / f"{self._host}.lock"):
            since = self._clock() - HOUR_S
            uses = [use for use in _read(file) if since < use[0] <= self._clock()]
            yield uses
            write_json(file, uses)


def _read(file: Path) -> list[tuple[float, int, int]]:
    try:
        return [(float(at), int(requests), int(size)) for at, requests, size in json.loads(file.read_text())]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError) as error:
        raise MachineError(f"{file} does not say what was asked of its host: {error}", f"rm {file}") from error
