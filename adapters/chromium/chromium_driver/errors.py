"""Why the driver cannot do what was asked; each becomes an `error` line."""


class DriverError(Exception):
    """Something broke that no later job could survive: the browser died or does not answer (exit 1)."""


class GoneError(DriverError):
    """The browser closed its DevTools connection."""

    def __init__(self) -> None:
        super().__init__("the browser closed its DevTools connection")


class BadJobError(Exception):
    """A line on standard input that is no job (exit 2)."""


class UnsupportedError(Exception):
    """A job this client cannot do; the session goes on."""
