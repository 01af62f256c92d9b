"""A program under test that has yet to be started, and is confined ahead of that where it can be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from longlook.lab.linux.confine import Confinement
from longlook.lab.linux.namespace import Namespace
from longlook.lab.process import Process, start


@dataclass(frozen=True)
class Prepared:
    """How a program is started; its output goes to `NAME.jsonl` in `folder` and to `NAME.stderr` in `outlet`."""

    name: str
    argv: Sequence[str]
    namespace: Namespace
    env: Mapping[str, str]
    folder: Path
    outlet: Path
    confinement: Confinement

    def confine(self) -> None:
        """Begin to confine it while other things are done; errors are raised by `start`."""
        self.confinement.prepare(self.namespace.descriptor)

    def start(self) -> Process:
        """Start the program and return its process; errors as of `process.start`, after which nothing of it is left."""
        try:
            return start(
                self.name,
                self.argv,
                self.namespace,
                self.env,
                stdout_log=self.folder / f"{self.name}.jsonl",
                stderr_log=self.outlet / f"{self.name}.stderr",
                confinement=self.confinement,
            )
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give up what was made for a program that was not started."""
        self.confinement.close()
