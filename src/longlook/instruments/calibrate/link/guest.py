"""Pid 1 of a guest that calibrates the link. Light imports only."""

from longlook.instruments.calibrate.link.catalogue import CASES
from longlook.lab.guest import ENGINE, EXCHANGE, HOME, GuestRequest, copy_to_host, run_as_init
from longlook.lab.timing import Timing

RESULT = "calibration"
"""The folder in the exchange."""


def main() -> None:
    """Run as the guest's first process; it does not return."""
    run_as_init(_calibrate)


def _calibrate(request: GuestRequest) -> None:
    from longlook.instruments.calibrate.link.measure import (
        measure_cases,  # pyroute2 reads /proc, which is the guest's only now
    )

    folder = HOME / "calibration"
    folder.mkdir()
    measure_cases(CASES, folder, Timing(ENGINE, virtual=True, exact=request.exact))
    copy_to_host(folder, EXCHANGE / RESULT)


if __name__ == "__main__":
    main()
