"""Errors that a user can act on; each carries the exit code of the command line and what to do next."""


class LonglookError(Exception):
    """An expected failure. `hint` is what to do next; it is printed below the message."""

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        """Take what is wrong and, as `hint`, what to do next."""
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(LonglookError):
    """Wrong usage or input: a study file, an argument, a run folder (exit 2)."""

    exit_code = 2


class MachineError(LonglookError):
    """This machine cannot do it: a missing program, privilege or space (exit 3)."""

    exit_code = 3


class InterruptedByUserError(LonglookError):
    """The user or the system asked to stop (exit 130, as a shell reports Ctrl-C)."""

    exit_code = 130
