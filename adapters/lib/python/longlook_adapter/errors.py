"""Why the adapter cannot do what was asked; each becomes an `error` line and an exit code."""


class AdapterError(Exception):
    """Something went wrong."""

    exit_code = 1
    supported = True


class BadUsageError(AdapterError):
    """The caller's mistake."""

    exit_code = 2


class UnsupportedError(AdapterError):
    """A request that this stack cannot meet."""

    exit_code = 127
    supported = False


class ReportedError(Exception):
    """A failure whose lines have been printed already."""
