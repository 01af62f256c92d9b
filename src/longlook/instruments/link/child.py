"""Programs behind a link: the user's command, which keeps the terminal, and a server at the far side."""

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from longlook.core import LonglookError, MachineError
from longlook.lab import Namespace, system

_SERVER_READY_WITHIN_S = 10.0
_POLL_S = 0.01
_LISTENING = "0A"  # in /proc/net/tcp


class CommandError(LonglookError):
    """The command cannot be run; `exit_code` is as in a shell: 127 not found, 126 not executable."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def start_command(
    argv: Sequence[str], namespace: Namespace, env: Mapping[str, str], resolver: Path | None
) -> "subprocess.Popen[bytes]":
    """Start a command in a namespace, in this process's session and group, with its terminal and standard streams.

    In the same group, Ctrl-C and Ctrl-Z reach it as without a link; a shell makes its own groups.
    """
    try:
        return subprocess.Popen(
            list(argv),
            env=dict(env),
            close_fds=False,  # what a shell opened for the command, such as <(…), stays open; ours close by themselves
            preexec_fn=_entering(namespace, resolver),  # noqa: PLW1509 (there are no threads)
        )
    except FileNotFoundError as error:
        raise CommandError(f"{argv[0]}: command not found", 127) from error
    except OSError as error:
        raise CommandError(f"{argv[0]}: {error.strerror}", 126) from error
    except subprocess.SubprocessError as error:
        raise MachineError(f"the command cannot be moved behind the link: {error}", "longlook doctor") from error


def start_server(command: str, namespace: Namespace, env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Start a shell's command line in a namespace, in a session of its own; its output goes to standard error."""
    return subprocess.Popen(
        ["/bin/sh", "-c", command],
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=2,
        start_new_session=True,
        preexec_fn=_entering(namespace, None),  # noqa: PLW1509 (there are no threads)
    )


def wait_until_listening(server: "subprocess.Popen[bytes]") -> None:
    """Return once a program in the server's namespace listens on TCP or has a UDP port; LonglookError if none does."""
    deadline = time.monotonic() + _SERVER_READY_WITHIN_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise LonglookError(f"the server ended with exit code {server.returncode} before the command began")
        if _listens(server.pid):
            return
        time.sleep(_POLL_S)
    raise LonglookError(
        f"the server listens on no port after {_SERVER_READY_WITHIN_S:.0f} s",
        "--server 'COMMAND' must open a TCP or UDP port of 0.0.0.0 or of $LONGLOOK_LINK_SERVER",
    )


def _entering(namespace: Namespace, resolver: Path | None) -> Callable[[], None]:
    def enter() -> None:
        system.set_namespace(namespace.descriptor, system.CLONE_NEWNET)
        if resolver is not None:
            system.unshare(system.CLONE_NEWNS)
            system.mount("none", "/", None, system.MS_REC | system.MS_SLAVE)
            system.mount(str(resolver), os.path.realpath("/etc/resolv.conf"), None, system.MS_BIND)

    return enter


def _listens(pid: int) -> bool:
    with suppress(OSError):
        for protocol, states in (("tcp", (_LISTENING,)), ("udp", ("07", "01"))):
            for line in Path(f"/proc/{pid}/net/{protocol}").read_text().splitlines()[1:]:
                if line.split()[3] in states:
                    return True
    return False
