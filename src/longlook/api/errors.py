"""The errors of this package, under the names that scripts catch."""

from longlook.core import InputError, InterruptedByUserError, LonglookError, MachineError

__all__ = ["InputError", "InterruptedByUserError", "LonglookError", "MachineError"]
