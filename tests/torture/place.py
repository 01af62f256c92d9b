"""A place of an experiment's own: its folders, its processes, and the commands that it runs."""

import contextlib
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longlook.core.paths import cache_dir
from tests.faults.guest_harness import GuestHome
from tests.support.processes import command_line

BUILT = ("stacks", "cargo", "kernel", "www", "tls")
"""What of the user's cache an experiment may use: it is written once, and not by trials."""

PATIENCE_S = 600.0
"""Of any command; one that takes longer hangs."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    output: str
    errors: str

    def expect(self, *codes: int) -> "Ended":
        """Return this; AssertionError where the exit code is another, or a traceback was printed."""
        assert "Traceback (most recent call last)" not in self.errors + self.output, f"a traceback: {self.tail}"
        assert self.code in codes, f"exit code {self.code}, expected {codes}: {self.tail}"
        return self

    @property
    def tail(self) -> str:
        """Return the end of what was printed."""
        return (self.output + self.errors)[-1500:]


@dataclass(frozen=True)
class Place(GuestHome):
    """A home with the user's built stacks and a cache of trials of its own.

    `drawn` says what its experiment does, the deed by which it is counted first. It is noted before it is done: what
    breaks an experiment is counted under its deed, too.
    """

    drawn: list[str] = field(default_factory=list)

    def note(self, *words: str) -> None:
        """Add to what the experiment does."""
        self.drawn.extend(words)

    @classmethod
    def made(cls, path: Path) -> "Place":
        """Make an empty place at a path that does not exist."""
        (path / "tmp").mkdir(parents=True)
        (path / "cache").mkdir()
        for name in BUILT:
            if (cache_dir() / name).exists():
                (path / "cache" / name).symlink_to(cache_dir() / name)
        return cls(path)

    @classmethod
    @contextlib.contextmanager
    def borrowed(cls) -> Iterator["Place"]:
        """Yield a place that is gone afterwards."""
        with tempfile.TemporaryDirectory(prefix="longlook-torture-") as folder:
            yield cls.made(Path(folder) / "place")

    def command(self, *arguments: str, prefix: tuple[str, ...] = (), extra: Mapping[str, str] | None = None) -> Ended:
        """Run a command of Longlook to its end; AssertionError where it hangs."""
        return self.ended(self.longlook(*arguments, prefix=prefix, extra=dict(extra or {})))

    def script(self, text: str, prefix: tuple[str, ...] = ()) -> None:
        """Run a shell script; AssertionError where it fails or hangs."""
        run = subprocess.Popen(
            [*prefix, "sh", "-c", text],
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.runs.append(run)
        self.ended(run).expect(0)

    def ended(self, run: "subprocess.Popen[str]") -> Ended:
        """Wait for a command's end; AssertionError where it hangs."""
        try:
            output, errors = run.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            run.kill()
            raise AssertionError(f"no end after {PATIENCE_S:g} s: {run.args!r}") from None
        return Ended(run.returncode, output, errors)

    def everyone(self) -> set[int]:
        """Return every process of this place: of the command, of its guests, of its laboratories."""
        return {*self.processes(), *self.guests()}

    def expect_calm(self) -> None:
        """Wait until no process of this place is left; AssertionError where one stays for 20 s."""
        _wait(
            lambda: not self.everyone(), lambda: f"processes are left: {[command_line(pid) for pid in self.everyone()]}"
        )

    def expect_clean(self) -> None:
        """Wait until nothing unfinished is left, too: no scratch folder, no mark of a laboratory, no partial trial."""
        self.expect_calm()
        _wait(lambda: not self._left(), lambda: f"left behind: {[str(path) for path in self._left()]}")

    def _left(self) -> list[Path]:
        probed = {*(self.path / "cache" / "state").glob("guest-*.json")}  # what the machine can do: made once, and kept
        return [path for path in (*self.scratch(), *self.litter()) if path not in probed]


def _wait(holds: Callable[[], Any], otherwise: Callable[[], str]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline, otherwise()
        time.sleep(0.05)
