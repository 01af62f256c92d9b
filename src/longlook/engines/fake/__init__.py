"""Engine `fake`: made-up results in no time, for tests of what comes after an engine. No study can name it.

`engine.FakeEngine` makes a trial's result up. With `evidence` it also leaves what a laboratory would: logs of all links
(`link_log`), the files of competing flows (`flows`), profiles of CPU time and a server's trace (`collectors`).
"""

from longlook.engines.fake.engine import FakeEngine

__all__ = ["FakeEngine"]
