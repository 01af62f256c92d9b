"""What goes wrong with a browser elsewhere."""

from longlook_adapter.errors import DriverError


class ElsewhereError(DriverError):
    """The other machine, or the way to its DevTools port, is at fault, and not what was measured."""


class SilentError(ElsewhereError):
    """The browser does not answer, so that it can be asked for nothing more."""
