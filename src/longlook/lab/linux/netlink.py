"""The parts of pyroute2 that the laboratory uses: importing the whole package would take 150 ms in every guest."""

import importlib.util
import sys
from types import ModuleType
from typing import Any


def _import_bare(name: str) -> None:
    """Put a package into `sys.modules` without running its `__init__`, so that its modules can be imported singly."""
    if name in sys.modules:
        return
    spec = importlib.util.find_spec(name)
    if spec is None or spec.submodule_search_locations is None:
        raise ModuleNotFoundError(f"{name} is not installed", name=name)
    package = ModuleType(name)
    package.__path__ = spec.submodule_search_locations
    package.__spec__ = spec
    sys.modules[name] = package


for _package in ("pyroute2", "pyroute2.ethtool"):
    _import_bare(_package)

from pyroute2.ethtool.ioctl import IoctlEthtool  # noqa: E402
from pyroute2.netlink.exceptions import NetlinkError  # noqa: E402
from pyroute2.netlink.rtnl.fibmsg import fibmsg  # noqa: E402
from pyroute2.netlink.rtnl.ifaddrmsg import ifaddrmsg  # noqa: E402
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg  # noqa: E402
from pyroute2.netlink.rtnl.ndmsg import ndmsg  # noqa: E402
from pyroute2.netlink.rtnl.rtmsg import rtmsg  # noqa: E402

__all__ = [
    "IoctlEthtool",
    "NetlinkError",
    "fibmsg",
    "ifaddrmsg",
    "ifinfmsg",
    "ndmsg",
    "open_nftables",
    "open_routes",
    "rtmsg",
]


def open_routes() -> Any:
    """Return an IPRoute, pyroute2's socket with everything; imported here, since few guests need it."""
    from pyroute2.iproute.linux import IPRoute

    return IPRoute()  # type: ignore[no-untyped-call]


def open_nftables(family: int) -> Any:
    """Return a socket to nftables for one address family; the library is imported here, since guests never need it."""
    from pyroute2.nftables.main import NFTables

    return NFTables(nfgen_family=family)  # type: ignore[no-untyped-call]
