"""What goes wrong with a browser elsewhere."""

from longlook_adapter.errors import DriverError


class ElsewhereError(DriverError):
    """The other machine, or the way to its DevTools port, is at fault, and not what was measured."""
