"""Gives programs that tests start the same signals and environment, whatever shell runs the tests."""

import os
import signal

_CALLERS_CHOICES = (
    *("PS1", "PS2", "ENV", "BASH_ENV", "PROMPT_COMMAND"),  # `activate` exports PS1: tests wait for a shell's own prompt
    *("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"),
    *("LONGLOOK_PLUGINS", "LONGLOOK_STORE", "LONGLOOK_STORE_MODE", "LONGLOOK_STORE_TIMEOUT_S"),
)
_OFTEN_IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM)


def clear_environment() -> None:
    """Remove from this process's environment the caller's choices that change what shells and `longlook` print."""
    for name in _CALLERS_CHOICES:
        os.environ.pop(name, None)


def restore_default_signals() -> None:
    """Let programs that this process starts have the default action for every signal.

    A process passes on the signals that it ignores, and a shell makes its background jobs ignore SIGINT, as nohup does
    with SIGHUP. A handler is not passed on. So a signal that this process ignores gets a handler that does nothing:
    this process still survives the signal, and the programs that it starts do not.
    """
    for number in _OFTEN_IGNORED:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, nobody can wait for a child
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
