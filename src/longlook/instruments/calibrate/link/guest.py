"""Pid 1 of a guest that calibrates the link. Light imports only."""

import json

from longlook.core import codec
from longlook.instruments.calibrate.link.passages import PASSAGES, Passage
from longlook.lab import ENGINE, EXCHANGE, HOME, GuestRequest, Timing, copy_to_host, finish_imports, run_as_init

RESULT = "calibration"
"""The folder in the exchange."""


def main() -> None:
    """Run as the guest's first process; it does not return."""
    run_as_init(_calibrate)


def _calibrate(request: GuestRequest) -> None:
    # Here, because pyroute2 reads /proc, which is the guest's only now.
    from longlook.instruments.calibrate.link.measure import measure_passages

    folder = HOME / "calibration"
    folder.mkdir()
    passages = [codec.decode(Passage, each) for each in json.loads((EXCHANGE / PASSAGES).read_text())]
    finish_imports()
    measure_passages(passages, folder, Timing(ENGINE, virtual=True, exact=request.exact))
    copy_to_host(folder, EXCHANGE / RESULT)


if __name__ == "__main__":
    main()
