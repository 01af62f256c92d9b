"""An echo over bare UDP: one socket for each size, and a server that sends back what it receives."""

import signal
import socket
import sys
import time
from typing import NoReturn

import aioquic
from longlook_adapter.clock import now_ns
from longlook_adapter.lines import emit
from longlook_adapter.options import Options

from echo_adapter import UDP
from echo_adapter.job import EchoJob
from echo_adapter.sockets import dont_fragment_of, make_socket, too_large

_ROOM_BYTES = 65_536


def run(job: EchoJob) -> None:
    """Try all sizes, and print a line for each."""
    for payload_bytes in job.payloads:
        _try(job, payload_bytes)


def _try(job: EchoJob, payload_bytes: int) -> None:
    """Send one size until it is answered; one that the kernel refuses is given up at once."""
    server = (job.address, job.port)
    started_ns, began = now_ns(), time.monotonic()
    with make_socket(job.address, job.dont_fragment) as sock:
        for number in range(1, job.tries + 1):
            try:
                sock.sendto(_payload(payload_bytes, number), server)
            except OSError as error:
                if not too_large(error):
                    raise
                emit(
                    "echo", payload_bytes=payload_bytes, tries=number, t_start_ns=started_ns, t_answer_ns=None,
                    t_end_ns=now_ns(), refused=error.strerror,
                )  # fmt: skip
                return
            answered_ns = _await(sock, server, payload_bytes, began + number * job.interval_s)
            if answered_ns is not None:
                emit(
                    "echo", payload_bytes=payload_bytes, tries=number, t_start_ns=started_ns, t_answer_ns=answered_ns,
                    t_end_ns=answered_ns, refused=None,
                )  # fmt: skip
                return
    emit(
        "echo", payload_bytes=payload_bytes, tries=job.tries, t_start_ns=started_ns, t_answer_ns=None,
        t_end_ns=now_ns(), refused=None,
    )  # fmt: skip


def _await(sock: socket.socket, server: tuple[str, int], payload_bytes: int, until: float) -> int | None:
    """Return when an answer came that is one of this size's tries, byte by byte; None where none came in time."""
    while (left_s := until - time.monotonic()) > 0:
        sock.settimeout(left_s)
        try:
            data, sender = sock.recvfrom(_ROOM_BYTES)
        except TimeoutError:
            return None
        arrived_ns = now_ns()
        if sender[:2] == server and data == _payload(payload_bytes, int.from_bytes(data[:4], "big")):
            return arrived_ns
    return None


def _payload(payload_bytes: int, number: int) -> bytes:
    """Return a datagram: the number of its try, and a pattern that differs from size to size."""
    head = number.to_bytes(4, "big") + payload_bytes.to_bytes(4, "big")
    return head + bytes(payload_bytes - len(head))


def serve(options: Options) -> None:
    """Send every datagram back to where it came from, until SIGTERM."""
    dont_fragment = dont_fragment_of(options.knobs, UDP)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    with make_socket(options.address, dont_fragment) as sock:
        sock.bind((options.address, options.port))
        address, port = sock.getsockname()[:2]
        emit("ready", role="server", protocol=UDP, address=address, port=port, version=aioquic.__version__)
        while True:
            data, client = sock.recvfrom(_ROOM_BYTES)
            try:
                sock.sendto(data, client)
            except OSError as error:
                if not too_large(error):  # an answer that does not leave is one that does not arrive
                    raise


def _end(_number: int, _frame: object) -> NoReturn:
    sys.exit(0)
