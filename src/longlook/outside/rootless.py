"""A link for a user without privileges: namespaces of their own, and a user-space network that leads out of them."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from ipaddress import IPv4Address

from longlook.core import MachineError
from longlook.lab import isolation, open_routes, system

_PASTA, _SLIRP = "pasta", "slirp4netns"
_READY_WITHIN_S = 10.0
_POLL_S = 0.02
_PASSED_ON = (system.CAP_NET_BIND_SERVICE, system.CAP_NET_ADMIN, system.CAP_NET_RAW, system.CAP_SYS_ADMIN)
"""Capabilities for links inside a link, and for programs that open low ports or raw sockets."""


def may_change_network() -> bool:
    """Return whether this process can make devices in its network namespace, and further namespaces."""
    return isolation.has_full_privilege() and (system.in_initial_user_namespace() or system.owns_network())


class UserNetwork:
    """The way out of a namespace without privileges: a program in the namespace outside that copies packets."""

    def __init__(self) -> None:
        self._program = next(filter(None, map(shutil.which, (_PASTA, _SLIRP))), None)
        if self._program is None:
            raise MachineError(
                "without privileges, a link out of this network namespace needs pasta or slirp4netns",
                "run as root, or: apt install passt; or --isolated --server 'COMMAND' for a network of its own",
            )
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        """Return the name of the program."""
        return os.path.basename(self._program or "")  # noqa: PTH119

    def enter(self) -> IPv4Address:
        """Move this process into a network namespace that leads out; return the host's address there."""
        if self._program is None:
            raise AssertionError("it was found when this was made")
        # The program stays outside, so it is started before; it waits until there is something to connect.
        with tempfile.TemporaryFile() as output:
            release, hold = os.pipe()
            waiting = ["/bin/sh", "-c", f'read -r _ <&{release}; exec {release}<&-; exec "$@"', "sh", *self._argv()]
            self.process = subprocess.Popen(
                waiting,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[release],
                start_new_session=True,
            )
            os.close(release)
            try:
                enter_own_namespaces()
                os.write(hold, b"\n")
                return _await_gateway(self.process)
            except TimeoutError:
                self.close()
                output.seek(0)
                words = " ".join(output.read().decode(errors="replace").split()[-30:])
                raise MachineError(
                    f"{self._program} does not connect the network: {words or 'it prints nothing'}",
                    "run as root, or use --isolated",
                ) from None
            except BaseException:
                self.close()
                raise
            finally:
                os.close(hold)

    def close(self) -> None:
        """End the program."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def _argv(self) -> Sequence[str]:
        target = str(os.getpid())
        if self.name == _PASTA:
            nothing_in = [word for option in ("-t", "-u", "-T", "-U") for word in (option, "none")]
            return [str(self._program), "--foreground", "--quiet", "--config-net", *nothing_in, target]
        return [str(self._program), "--configure", "--mtu=1500", target, "tap0"]


def enter_own_namespaces() -> None:
    """Move this process into user and network namespaces of its own, as the same user."""
    isolation.enter_user_namespace(os.geteuid(), os.getegid())
    system.unshare(system.CLONE_NEWNET | system.CLONE_NEWNS)
    system.mount("none", "/", None, system.MS_REC | system.MS_SLAVE)
    system.pass_capabilities_on(_PASSED_ON)
    with open_routes() as netlink:
        netlink.link("set", index=1, state="up")


def _await_gateway(process: "subprocess.Popen[bytes]") -> IPv4Address:
    """Return the gateway once there is one; TimeoutError if there is none in time, or the program has ended."""
    deadline = time.monotonic() + _READY_WITHIN_S
    with open_routes() as netlink:
        while time.monotonic() < deadline and process.poll() is None:
            for route in netlink.get_default_routes(family=2):
                if (gateway := route.get_attr("RTA_GATEWAY")) is not None:
                    return IPv4Address(gateway)
            time.sleep(_POLL_S)
    raise TimeoutError
