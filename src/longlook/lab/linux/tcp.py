"""Sets the kernel's TCP inside one side's namespace for a trial.

Everything is set for each trial, because several trials use a session client's namespace: a setting that a trial omits
goes back to the laboratory's default. These defaults are windows that may grow beyond any link's product, no pacing,
and Linux's own defaults for the rest. Some settings belong to the namespace (sysctl), some to the route. The parameters
of Cubic's module belong to the whole kernel: they may be set only in a guest, in which one trial runs at a time.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from longlook.core import MachineError, Scalar
from longlook.lab.linux.namespace import TCP_BUFFER_BYTES, Namespace
from longlook.lab.linux.netlink import NetlinkError

_LEAST_BYTES, _RECEIVE_AT_FIRST_BYTES, _SEND_AT_FIRST_BYTES = 4096, 131_072, 65_536
_LARGEST_SEGMENT_BYTES = 1460
_ROOT, _HANDLE = 0xFFFFFFFF, 0x10000

_SYSCTLS: Sequence[tuple[str, str, int, Callable[[Scalar], int]]] = (
    ("idle_restart", "tcp_slow_start_after_idle", 1, int),
    ("reordering_packets", "tcp_reordering", 3, int),
    ("adaptive_reordering", "tcp_recovery", 1, lambda on: 1 if on else 1 | 2),  # 1: RACK; 2: its window is constant
    ("sack", "tcp_sack", 1, int),
    ("dsack", "tcp_dsack", 1, int),
    ("tail_loss_probe", "tcp_early_retrans", 3, lambda on: 3 if on else 0),
    ("timestamps", "tcp_timestamps", 1, int),
    ("mtu_probing", "tcp_mtu_probing", 0, int),  # 1: once retransmissions time out
    ("syn_retries", "tcp_syn_retries", 6, int),
    ("syn_retries", "tcp_synack_retries", 5, int),
    ("data_retries", "tcp_retries2", 15, int),
    ("ecn", "tcp_ecn", 2, lambda value: _ACCURATE_ECN if value == "accecn" else int(value)),  # 2: where the peer asks
)
"""Rows of setting, sysctl, Linux's default, and the number that stands for a value."""

_ACCURATE_ECN = 3  # AccECN is asked for and answered; a peer without it gets ECN as it was

_METRICS: Mapping[str, str] = {"rto_min_ms": "rto_min", "mss_bytes": "advmss", "quickack": "quickack"}
"""Setting → metric of the route."""

_LOCK_RTO_MIN = 1 << 13  # RTAX_LOCK: bit RTAX_RTO_MIN; without it the metric would not count

_MULTIPATH = Path("/proc/sys/net/mptcp/enabled")
_CUBIC = Path("/sys/module/tcp_cubic/parameters")
_CUBIC_SCALE, _CUBIC_BETA = 1024, 0.7


def route_metrics(tcp: Mapping[str, Scalar]) -> dict[str, Any]:
    """Return the metrics of a route with these settings, `lock` among them; {} if none is set.

    The initial window holds for the sender's window and for the window that the receiver offers.
    """
    found: dict[str, Any] = {metric: int(tcp[name]) for name, metric in _METRICS.items() if name in tcp}
    if "initial_window_packets" in tcp:
        packets = int(tcp["initial_window_packets"])
        found |= {"initcwnd": packets, "initrwnd": packets}
    return found | ({"lock": _LOCK_RTO_MIN} if "rto_min" in found else {})


def buffer_for(packets: int) -> int:
    """Return the size in bytes of a receive buffer of which Linux offers a window of `packets` packets at first.

    It offers half of the buffer (`tcp_select_initial_window`), however much more the route allows.
    """
    return 2 * packets * _LARGEST_SEGMENT_BYTES


def apply_to_kernel(tcp: Mapping[str, Scalar], *, own_kernel: bool) -> None:
    """Set Linux's Cubic for the whole kernel: HyStart, the first slow-start threshold, the window that a loss leaves.

    Raise MachineError if a trial sets one of them and the kernel is not its own (`own_kernel`), but a host's.
    """
    if own_kernel:
        first = int(tcp.get("initial_ssthresh_packets", 0))
        _parameter("hystart", int(bool(tcp.get("hystart", not first))))  # Cubic takes the threshold without HyStart
        _parameter("initial_ssthresh", first)
        _parameter("beta", round(float(tcp.get("window_after_loss", _CUBIC_BETA)) * _CUBIC_SCALE))
    elif found := [name for name in ("hystart", "initial_ssthresh_packets", "window_after_loss") if name in tcp]:
        named = " and ".join(f"tcp_{name.removesuffix('_packets')}" for name in found)
        raise MachineError(
            f"{named} would change Cubic for everything that runs on this machine",
            "use --engine virtual, where each trial has a kernel of its own",
        )


def _parameter(name: str, number: int) -> None:
    (_CUBIC / name).write_text(str(number))


def apply(namespace: Namespace, device: str, tcp: Mapping[str, Scalar]) -> None:
    """Set what belongs to the namespace, and pacing; raise MachineError if the kernel cannot pace."""
    receive = int(tcp.get("receive_buffer_bytes", TCP_BUFFER_BYTES))
    at_first = max(_RECEIVE_AT_FIRST_BYTES, buffer_for(int(tcp.get("initial_window_packets", 0))))
    send = int(tcp.get("send_buffer_bytes", TCP_BUFFER_BYTES))
    with namespace.inside():
        _write("tcp_rmem", _LEAST_BYTES, min(at_first, receive), receive)
        _write("tcp_wmem", _LEAST_BYTES, min(_SEND_AT_FIRST_BYTES, send), send)
        for name, sysctl, default, number in _SYSCTLS:
            _write(sysctl, number(tcp[name]) if name in tcp else default)
        _set_multipath(wanted=bool(tcp.get("multipath", False)))
    _pace(namespace, device, wanted=bool(tcp.get("pacing", False)))


def _set_multipath(*, wanted: bool) -> None:
    try:
        _MULTIPATH.write_text(str(int(wanted)))
    except FileNotFoundError as error:
        if wanted:
            hint = "use --engine virtual, whose kernel has it, or leave tcp_multipath out"
            raise MachineError("this kernel has no Multipath TCP", hint) from error


def _pace(namespace: Namespace, device: str, *, wanted: bool) -> None:
    """Add or remove fq: Linux paces a flow that does not pace itself only by this queueing discipline on its device."""
    present = device in namespace.paced
    if wanted == present:
        return
    index = namespace.index(device)
    if wanted:
        try:
            namespace.netlink.tc("add", "fq", index=index, handle=_HANDLE, parent=_ROOT)
        except NetlinkError as error:
            raise MachineError(
                f"this kernel cannot pace TCP: it has no queueing discipline fq ({error})",
                "use --engine virtual, whose kernel has it; or load sch_fq; or tcp_pacing = false",
            ) from error
        namespace.paced.add(device)
    else:
        namespace.netlink.tc("del", index=index, handle=_HANDLE, parent=_ROOT)
        namespace.paced.remove(device)


def _write(name: str, *numbers: int) -> None:
    try:
        (Path("/proc/sys/net/ipv4") / name).write_text(" ".join(map(str, numbers)))
    except OSError as error:
        if name == "tcp_ecn" and numbers == (_ACCURATE_ECN,):
            raise MachineError(
                f'this kernel has no AccECN, which tcp_ecn = "accecn" asks for ({error})',
                "use --engine virtual, whose kernel has it; or a kernel from 6.18 on; or tcp_ecn = true",
            ) from error
        raise
