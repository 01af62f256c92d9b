"""Why the driver cannot go on; each becomes an `error` line."""


class DriverError(Exception):
    """Something broke that no later job could survive: the browser died or does not answer (exit 1)."""


class GoneError(DriverError):
    """The browser closed its DevTools connection."""

    def __init__(self) -> None:
        super().__init__("the browser closed its DevTools connection")
