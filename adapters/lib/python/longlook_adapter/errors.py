"""The errors of an adapter; each becomes an `error` line and an exit code."""


class AdapterError(Exception):
    """Something went wrong."""

    exit_code = 1
    supported = True


class BadUsageError(AdapterError):
    """The caller made a mistake."""

    exit_code = 2


class UnsupportedError(AdapterError):
    """This stack cannot do what was asked."""

    exit_code = 127
    supported = False


class ReportedError(Exception):
    """A failure whose lines have been printed already."""


class DriverError(Exception):
    """A session cannot go on: the browser died or does not answer, and no later job could succeed (exit code 1)."""
