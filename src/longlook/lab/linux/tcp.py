"""Sets the kernel's TCP inside one side's namespace for a trial.

Everything is set for each trial: a session client's namespace is used by several, so what a trial does not set goes
back to the laboratory's defaults, which are windows that may grow beyond any link's product, and no pacing.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longlook.core.errors import MachineError
from longlook.core.model import Scalar
from longlook.lab.linux.namespace import TCP_BUFFER_BYTES, Namespace
from longlook.lab.linux.netlink import NetlinkError

_LEAST_BYTES, _RECEIVE_AT_FIRST_BYTES, _SEND_AT_FIRST_BYTES = 4096, 131_072, 65_536
_ROOT, _HANDLE = 0xFFFFFFFF, 0x10000


def route_metrics(tcp: Mapping[str, Scalar]) -> dict[str, Any]:
    """Return a route's metrics for the initial window, of the sender and of the receiver; {} where none is set."""
    if "initial_window_packets" not in tcp:
        return {}
    packets = int(tcp["initial_window_packets"])
    return {"initcwnd": packets, "initrwnd": packets}


def apply(namespace: Namespace, device: str, tcp: Mapping[str, Scalar]) -> None:
    """Set buffers, slow start after idle periods, and pacing; raise MachineError where the kernel cannot pace."""
    receive = int(tcp.get("receive_buffer_bytes", TCP_BUFFER_BYTES))
    send = int(tcp.get("send_buffer_bytes", TCP_BUFFER_BYTES))
    with namespace.inside():
        _write("tcp_rmem", _LEAST_BYTES, min(_RECEIVE_AT_FIRST_BYTES, receive), receive)
        _write("tcp_wmem", _LEAST_BYTES, min(_SEND_AT_FIRST_BYTES, send), send)
        _write("tcp_slow_start_after_idle", int(bool(tcp.get("idle_restart", True))))
    _pace(namespace, device, wanted=bool(tcp.get("pacing", False)))


def _pace(namespace: Namespace, device: str, *, wanted: bool) -> None:
    """Add or remove fq: Linux paces a flow that does not pace itself only by this queueing discipline on its device."""
    index = namespace.index(device)
    found = namespace.netlink.get_qdiscs(index=index)
    present = any(qdisc.get_attr("TCA_KIND") == "fq" for qdisc in found)
    if wanted and not present:
        try:
            namespace.netlink.tc("add", "fq", index=index, handle=_HANDLE, parent=_ROOT)
        except NetlinkError as error:
            raise MachineError(
                f"this kernel cannot pace TCP: it has no queueing discipline fq ({error})",
                "use --engine virtual, whose kernel has it; or load sch_fq; or tcp_pacing = false",
            ) from error
    elif present and not wanted:
        namespace.netlink.tc("del", index=index, handle=_HANDLE, parent=_ROOT)


def _write(name: str, *numbers: int) -> None:
    (Path("/proc/sys/net/ipv4") / name).write_text(" ".join(map(str, numbers)))
