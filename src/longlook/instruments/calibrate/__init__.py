"""`longlook calibrate`: the link emulator against theory, and servers against a reference.

`run.run_calibration` measures, judges and writes a calibration of the link. The package `link` has the code that
measures and judges, alone, because a certificate is void if that code changes. `page` draws a calibration in real time.
`servers.run_servers` compares what servers wait and receive with a reference server.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.instruments.calibrate import command as command
else:
    __all__, __getattr__ = lazy(
        __name__,
        {},
        "command",
    )
