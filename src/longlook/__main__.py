"""The program `longlook`, also as `python -m longlook`."""

import os
import signal

_INTERRUPTED = 130


def run() -> None:
    """Run the command; Ctrl-C ends it without a word while its modules are loaded, which takes a second."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # and not ignored, as under nohup
        signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    from longlook.cli import main

    main()


if __name__ == "__main__":  # worker processes import this file too
    run()
