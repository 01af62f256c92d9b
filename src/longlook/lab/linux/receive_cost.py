"""Whether a program that hands a packet to the kernel is charged for what the kernel does with it.

It is, on most kernels: the receiver's TCP runs in the context of the program that sent the packet over a veth. A kernel
that accounts for interrupts apart (CONFIG_IRQ_TIME_ACCOUNTING) charges nobody, so that no quota covers that work.
"""

import socket
import time
from functools import cache

from longlook.core import MachineError
from longlook.lab.linux.namespace import Namespace

_PACKETS, _BATCHES = 200, 20
_LEAST_SHARE = 0.9
"""The least share of the time of sending that is charged to a sender who pays for the receiver's work. It is 0.99 and
more in practice. If nobody pays for that work, a third and more of the time is missing.
"""


@cache
def check_charged() -> None:
    """Raise MachineError if a sender is not charged for the receiving kernel's work; a yes is kept."""
    if (share := charged_share()) < _LEAST_SHARE:
        raise MachineError(
            f"this kernel charges a program for {share:.0%} of the time that its packets take: "
            "client_cpu cannot slow down what the client's kernel does",
            "use a kernel without CONFIG_IRQ_TIME_ACCOUNTING (boot with tsc=noirqtime), or leave out client_cpu",
        )


def charged_share() -> float:
    """Return the CPU time that a program is charged while it sends to itself, divided by the time that this takes.

    It is the largest of some short batches: other programs that take the CPU meanwhile make one smaller, never larger.
    """
    with Namespace() as namespace, namespace.inside(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)  # all that arrives is processed, and then discarded
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.connect(receiver.getsockname())
            return max(_charged_share_of_batch(sender) for _ in range(_BATCHES))


def _charged_share_of_batch(sender: socket.socket) -> float:
    began_ns, cpu_began_ns = time.perf_counter_ns(), time.thread_time_ns()
    for _ in range(_PACKETS):
        sender.send(bytes(1200))
    return (time.thread_time_ns() - cpu_began_ns) / (time.perf_counter_ns() - began_ns)
