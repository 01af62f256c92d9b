"""CPU time of a trial's programs by kind of work, from the call stacks that a profiler sampled. Pure."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from longlook.core import FACTS, FOLDER, KERNEL, UNNAMED, files


class Work(StrEnum):
    """The work of a program, or of the kernel on its behalf. Tables show these texts."""

    CRYPTOGRAPHY = "cryptography"
    CHECKING = "checking bodies"
    COPIES = "copying bytes"
    SENDING = "sending calls"
    RECEIVING = "receiving calls"
    DEVICE = "device and interrupts"
    WAKING = "waiting and waking"
    OTHER_CALLS = "other system calls"
    MEMORY = "memory management"
    RUNTIME = "language runtime"
    OWN = "protocol and program"
    UNNAMED = "without a name"


_SEND, _RECEIVE = frozenset({"sendmsg", "sendmmsg", "sendto"}), frozenset({"recvmsg", "recvmmsg", "recvfrom"})
_WRITE, _READ = frozenset({"sendfile", "sendfile64", "splice", "write", "writev"}), frozenset({"read", "readv"})
"""Calls that send or receive only if their file is a socket."""
_WAIT = frozenset(
    (
        *("epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect6"),
        *("futex", "futex_wait", "futex_wake", "nanosleep", "clock_nanosleep", "sched_yield"),
    )
)
_CALL = re.compile(
    r"^(?:_*(?:x64|arm64|se|do)?_*k?sys_(?!call_)"
    r"|do_(?=writev|readv|sendfile|splice|recvmmsg|epoll_|futex|poll|select|nanosleep))"
    r"(\w+?)(?:\.[\w.]+)?_\[k\]$"
)
_SWITCH = re.compile(r"^(?:__)?schedule_")
_SOCKET = re.compile(r"^(?:sock_|tcp_|udp_|inet6?_|unix_)")
_EVENT = re.compile(r"^(?:eventfd|pipe|anon_pipe|timerfd)_")
_DEVICE = re.compile(
    r"^(?:handle_softirqs|__do_softirq|do_softirq|net_rx_action|net_tx_action|(?:__)?dev_queue_xmit|dev_hard_start_xmit|"
    r"(?:__)?dev_direct_xmit|sch_direct_xmit|(?:veth|tun_net|loopback)_xmit|tpacket_rcv|packet_rcv|__netif_receive_skb\w*|"
    r"asm_sysvec_\w+|sysvec_\w+|asm_common_interrupt|common_interrupt|el[01]t?_\w*irq\w*|gic_handle_irq)[._]"
)
_FAULT = re.compile(r"^(?:asm_exc_page_fault|exc_page_fault|do_user_addr_fault)_")
_KERNEL_COPY = re.compile(
    r"^(?:(?:__arch)?_?_?_?copy_(?:from|to)_(?:user|iter)|_copy_\w+|copy_user_\w+|rep_movs_\w+|csum_partial\w*|csum_and_copy\w*|"
    r"skb_copy_\w+|simple_copy_to_iter|(?:__pi_)?_?_?mem(?:cpy|move)\w*)[._]"
)
_COPY = re.compile(r"^(?:runtime\.mem(?:move|cpy)|(?:compiler_builtins::mem::)?_?_?mem(?:move|cpy)|mempcpy)")
_CLEAR = re.compile(r"^(?:runtime\.memclr|_?_?memset|bzero)")
_CRYPTO_LIBRARY = re.compile(
    r"\((?:\d+-)?(?:libcrypto|libgnutls|libnettle|libhogweed|libgcrypt|_rust\.abi3|_openssl)[^)]*\)$"
)
_CRYPTO = re.compile(
    r"^(?:vendor/)?(?:golang\.org/x/)?crypto/(?!tls\b|x509\b)"  # of Go; TLS's own records are no primitives
    r"|ring_core_|^<?ring::|aws_lc_|^<?aws_lc_rs::"
    r"|(?:^|[_:.])(?:aesni|aes|gcm|ghash|gmult|vpaes|chacha_?20|poly1305|sha1|sha256|sha512|hkdf|hmac|x25519|ed25519|"
    r"curve25519|fiat|p256|ecp_nistz256|ec_GFp\w*|ecdsa|rsaz|bn_(?:mul|sqr|from_mont)\w*|"
    r"EVP_(?:AEAD|Encrypt|Decrypt|Cipher|Digest|PKEY)\w*)(?=[_:.\d]|$)",
    re.IGNORECASE,
)
_CHECKER = re.compile(r"^main\.(?:copyBody|fetchInto)$|^<?sha2::")
_HASH = re.compile(r"(?:^|[_:./<])sha(?:2|256)(?=[_:./\d]|$)")
"""Adapters hash every body that arrives: adapters in Go with the function that TLS uses, too, adapters in Rust with a
crate for it.
"""
_ALLOCATION = re.compile(
    r"^(?:runtime\.(?:malloc|newobject|makeslice|growslice|gc|bgs|scan|greyobject|mark|sweep|findObject|wbBuf|"
    r"bulkBarrier|typePointers|\(\*(?:mspan|mcache|mcentral|mheap|gcWork|pageAlloc|gcBits|sweepLocked|scavenger))"
    r"|operator (?:new|delete)|_?_?(?:GI_)?(?:___)?(?:libc_)?(?:malloc|calloc|realloc|free|cfree)(?:$|[ @_])|"
    r"_int_(?:malloc|free|realloc)|malloc_consolidate|"
    r"unlink_chunk|__rust_(?:alloc|dealloc|realloc)|__rdl_|_?mi_(?:malloc|free)|je_)"
)
_RUNTIME = re.compile(r"^(?:runtime\.|internal/runtime/|<?tokio::|<?mio::|__vdso_|_PyEval_|Py_|_Py)")
_LIBRARY = re.compile(r" \([^()]*\)$")


def work_of(frames: Sequence[str]) -> Work:
    """Return the work of a call stack; `frames` are the names of its functions, outermost first.

    If the kernel works for a program, the system call decides. A device may do its work in the middle of a system call:
    the emulated link is a pair of virtual devices, which run in the sender's call. Such work is the device's.
    """
    first_kernel = next((number for number, name in enumerate(frames) if name.endswith(KERNEL)), len(frames))
    kernel, user = frames[first_kernel:], frames[:first_kernel]
    if kernel:
        return _work_of_kernel(kernel)
    return _work_of_program(user) if user else Work.UNNAMED


def _work_of_kernel(frames: Sequence[str]) -> Work:
    if all(name == UNNAMED + KERNEL for name in frames):
        return Work.UNNAMED  # a kernel that hides its names
    if _KERNEL_COPY.match(frames[-1]):
        return Work.COPIES
    if any(_DEVICE.match(name) for name in frames):
        return Work.DEVICE
    call = next((match[1] for name in frames if (match := _CALL.match(name))), None)
    if call is not None:
        return _work_of_call(call, frames)
    if any(_FAULT.match(name) for name in frames):
        return Work.MEMORY
    return Work.WAKING if any(_SWITCH.match(name) for name in frames) else Work.OTHER_CALLS


def _work_of_call(call: str, frames: Sequence[str]) -> Work:
    if call in _WAIT or any(_EVENT.match(name) for name in frames):
        return Work.WAKING
    on_socket = any(_SOCKET.match(name) for name in frames)
    if call in _SEND or (call in _WRITE and on_socket):
        return Work.SENDING
    return Work.RECEIVING if call in _RECEIVE or (call in _READ and on_socket) else Work.OTHER_CALLS


def _work_of_program(frames: Sequence[str]) -> Work:
    leaf = _LIBRARY.sub("", frames[-1])
    if _COPY.match(leaf):
        return Work.COPIES
    checker = next((number for number, name in enumerate(frames) if _CHECKER.search(name)), len(frames))
    if any(_HASH.search(name) for name in frames[checker:]):
        return Work.CHECKING
    if any(_CRYPTO.search(_LIBRARY.sub("", name)) or _CRYPTO_LIBRARY.search(name) for name in frames):
        return Work.CRYPTOGRAPHY
    if leaf == UNNAMED:
        return Work.UNNAMED
    if _CLEAR.match(leaf) or any(_ALLOCATION.match(name) for name in frames):
        return Work.MEMORY
    return Work.RUNTIME if _RUNTIME.match(leaf) else Work.OWN


ROLES = ("client", "server")
WORK_COLUMNS = ("role", "work", "cpu_s", "counted_s")


def work_columns(trial: Path, counted_s: Mapping[str, float]) -> Mapping[str, list[Any]] | None:
    """Return columns `role`, `work`, `cpu_s`, `counted_s`: the sampled CPU seconds of each end by kind of work.

    `trial` is a trial's folder, `counted_s` has the CPU seconds of each end as the kernel counted them. A kind of work
    that was not seen has 0. None if nothing was sampled.
    """
    if (facts := _facts(trial)) is None:
        return None
    rows = []
    for role in ROLES:
        counts = Counter[Work]()
        for stack, count in read_folded(trial / FOLDER / f"{role}.folded").items():
            counts[work_of(stack.split(";")[1:])] += count
        hertz, counted = facts["frequency_hz"], counted_s.get(role, math.nan)
        rows += [(role, work.value, counts[work] / hertz, counted) for work in Work]
    return {name: list(column) for name, column in zip(WORK_COLUMNS, zip(*rows, strict=True), strict=True)}


def pooled_stacks(trials: Iterable[Path], role: str) -> tuple[Counter[str], float]:
    """Return the folded stacks of one end over several trials, and the CPU seconds that a sample stands for.

    The seconds count all trials, so that stacks times seconds are the sum of the trials; 0 without samples.
    """
    stacks: Counter[str] = Counter()
    seconds = 0.0
    for trial in trials:
        if (facts := _facts(trial)) is not None:
            stacks += read_folded(trial / FOLDER / f"{role}.folded")
            seconds = 1 / facts["frequency_hz"]
    return stacks, seconds


def read_folded(path: Path) -> Counter[str]:
    """Return the lines `thread;outermost;…;innermost COUNT` of a file of folded stacks; lines without a count are left
    out.
    """
    found: Counter[str] = Counter()
    for line in files.read_text(path).splitlines():
        stack, _, count = line.rpartition(" ")
        if stack and count.isdecimal():
            found[stack] += int(count)
    return found


def _facts(trial: Path) -> Mapping[str, Any] | None:
    path = trial / FOLDER / FACTS
    return files.read_json(path) if path.is_file() else None
