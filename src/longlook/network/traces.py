"""Traces of links as files: Mahimahi's, TheaterQ's, and lists of lost packets. Bytes in, parameters of stages out.

- **Mahimahi** (`rate`): one whole number a line, the millisecond of an opportunity to send 1500 bytes; not decreasing;
  several on one millisecond are several opportunities. As in its `link_queue.cc` an empty line is an error, and a trace
  whose last stamp is 0 is none. The trace begins again at its last stamp, so that the opportunities at 0 then coincide
  with the last ones.
- **TheaterQ** (`rate`, `delay`, `jitter`, `loss`, `queue`, `duplicate`): lines of numbers with commas, all of them of
  5 (KEEP, LATENCY, RATE, LOSS, LIMIT) or of 8 or 9 (KEEP, LATENCY, JITTER, RATE, LOSS, LIMIT, DUP_PROB, DUP_DELAY,
  ROUTE_ID). KEEP is in µs, LATENCY, JITTER and DUP_DELAY in ns, RATE in bit/s, LOSS and DUP_PROB of 2³²−1, LIMIT in
  packets. Lines that do not begin with a digit are comments, empty ones too. As in its kernel module a KEEP of 0 is an
  error, and a RATE or LIMIT of 0 is no limit. It begins again after the sum of KEEP.
- **Lost packets** (`loss`): the characters 0 and 1 (lost), spaces and line breaks without meaning; begins again.

docs/reference/study-network.md lists the parts of these formats that are not taken over.
"""

from collections.abc import Callable
from typing import Literal

from longlook.core import Json, UnitError

Role = Literal["rate", "delay", "jitter", "loss", "queue", "duplicate"]
"""The setting that a trace is for; it chooses the column of TheaterQ's lines."""

LARGEST_BYTES = 64 << 20
OPPORTUNITY_BYTES = 1500

_NS_PER_MS, _NS_PER_US = 10**6, 10**3
_LONGEST_NS = 7 * 24 * 3600 * 10**9  # as the link: times beyond a week are mistakes of unit
_MOST_IN_ONE_MS = 1_000_000
UNLIMITED_BPS, _UNLIMITED_PACKETS = 10**12, 2**32 - 1
U32_MAX = 2**32 - 1
SLOWEST_BPS = 1000
LONGEST_DELAY_NS = 3600 * 10**9
_SIMPLE = ("KEEP", "LATENCY", "RATE", "LOSS", "LIMIT")
_EXTENDED = ("KEEP", "LATENCY", "JITTER", "RATE", "LOSS", "LIMIT", "DUP_PROB", "DUP_DELAY", "ROUTE_ID")
_SIMPLE_FIELDS, _EXTENDED_FIELDS = 5, (8, 9)
_COLUMNS: dict[Role, str] = {
    "rate": "RATE",
    "delay": "LATENCY",
    "jitter": "JITTER",
    "loss": "LOSS",
    "queue": "LIMIT",
    "duplicate": "DUP_PROB",
}
_DIGITS = frozenset("0123456789")
_LOST = frozenset("01")
_LONGEST_NUMBER = 20  # digits of 2**64


class TraceError(UnitError):
    """A file that is not a trace, or not one for what is asked; the message begins with file and line."""


def parse_trace(data: bytes, role: Role, name: str) -> Json:
    """Return the content of a trace for a role, as the parameter of a stage: a mapping, or a text of 0 and 1 for lost
    packets.

    `name` is the file as messages call it. TraceError for anything that is not a trace.
    """
    if len(data) > LARGEST_BYTES:
        raise TraceError(f"{name}: {len(data)} bytes; allowed: at most {LARGEST_BYTES}")
    lines = _lines(data, name)
    if not any(line.strip() for line in lines):
        raise TraceError(f"{name}: empty; a trace has one line or more")
    first = next((line for line in lines if line[:1] in _DIGITS), "")
    if "," in first:
        return _theaterq(lines, role, name)
    if role == "rate":
        return _mahimahi(lines, name)
    if role == "loss":
        return _lost(lines, name)
    raise TraceError(
        f"{name}: no line with commas; allowed: a TheaterQ trace, whose column {_COLUMNS[role]} is what {role} takes "
        f"({','.join(_EXTENDED)})"
    )


def _lines(data: bytes, name: str) -> list[str]:
    for number, line in enumerate(data.split(b"\n"), 1):
        for byte in line:
            if byte > 126 or (byte < 32 and byte not in b"\t\r"):
                raise TraceError(f"{name}:{number}: not text (byte 0x{byte:02x}); allowed: lines of plain ASCII")
    lines = data.decode("ascii").split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _mahimahi(lines: list[str], name: str) -> Json:
    runs: list[tuple[int, int]] = []
    for number, line in enumerate(lines, 1):
        where = f"{name}:{number}"
        stamp_ms = _number(line.strip(), where, "a whole number of milliseconds, as in 17")
        if stamp_ms * _NS_PER_MS > _LONGEST_NS:
            raise TraceError(f"{where}: {stamp_ms} ms; allowed: at most a week ({_LONGEST_NS // _NS_PER_MS} ms)")
        at_ns = stamp_ms * _NS_PER_MS
        if runs and at_ns < runs[-1][0]:
            raise TraceError(
                f"{where}: {stamp_ms} ms comes after {runs[-1][0] // _NS_PER_MS} ms; stamps must not decrease"
            )
        if runs and at_ns == runs[-1][0]:
            runs[-1] = (at_ns, runs[-1][1] + 1)
        else:
            runs.append((at_ns, 1))
        if runs[-1][1] > _MOST_IN_ONE_MS:
            raise TraceError(f"{where}: allowed: at most {_MOST_IN_ONE_MS} opportunities in one millisecond")
    if runs[-1][0] == 0:
        raise TraceError(f"{name}:{len(lines)}: the last stamp is 0; a trace must last for some time")
    return {"opportunities": {"runs": tuple(runs), "bytes": OPPORTUNITY_BYTES, "repeat_ns": runs[-1][0]}}


def _lost(lines: list[str], name: str) -> Json:
    pattern = []
    for number, line in enumerate(lines, 1):
        text = "".join(line.split())
        if not _LOST.issuperset(text):
            raise TraceError(f"{name}:{number}: allowed: 0 (passes) and 1 (lost), or a TheaterQ trace with commas")
        pattern.append(text)
    return "".join(pattern)


def _theaterq(lines: list[str], role: Role, name: str) -> Json:
    convert = _CONVERSIONS[role]
    steps: list[tuple[int, int | float]] = []
    at_ns, fields = 0, 0
    for number, line in enumerate(lines, 1):
        if line[:1] not in _DIGITS:
            continue
        where = f"{name}:{number}"
        entry = _entry(line, where)
        if fields not in (0, len(entry)):
            raise TraceError(f"{where}: {len(entry)} numbers; allowed: {fields}, as in the lines before")
        fields = len(entry)
        if entry["KEEP"] == 0:
            raise TraceError(f"{where}: KEEP is 0; every line must last for some time (µs)")
        if _COLUMNS[role] not in entry:
            raise TraceError(
                f"{where}: the simple format has no {_COLUMNS[role]}, which {role} takes; allowed: "
                f"{','.join(_EXTENDED)}"
            )
        if role == "duplicate" and entry["DUP_PROB"] and entry["DUP_DELAY"]:
            raise TraceError(f"{where}: DUP_DELAY is {entry['DUP_DELAY']}; allowed: 0, a copy comes right behind")
        value = convert(entry[_COLUMNS[role]], where)
        if not steps or steps[-1][1] != value:
            steps.append((at_ns, value))
        at_ns += entry["KEEP"] * _NS_PER_US
        if at_ns > _LONGEST_NS:
            raise TraceError(f"{where}: the trace is longer than a week; KEEP is in µs")
    if len(steps) == 1:
        return {"steps": tuple(steps)}
    return {"steps": tuple(steps), "repeat_ns": at_ns}


def _entry(line: str, where: str) -> dict[str, int]:
    parts = [part.strip() for part in line.split(",")]
    if len(parts) == _SIMPLE_FIELDS:
        names: tuple[str, ...] = _SIMPLE
    elif len(parts) in _EXTENDED_FIELDS:
        names = _EXTENDED[: len(parts)]
    else:
        raise TraceError(
            f"{where}: {len(parts)} numbers; allowed: {_SIMPLE_FIELDS} ({','.join(_SIMPLE)}) or 8 to 9 "
            f"({','.join(_EXTENDED)})"
        )
    return {key: _number(part, where, f"a whole number for {key}") for key, part in zip(names, parts, strict=True)}


def _number(text: str, where: str, what: str) -> int:
    if not text or len(text) > _LONGEST_NUMBER or not _DIGITS.issuperset(text):
        raise TraceError(f"{where}: {'this' if text else 'an empty line'} is not {what}")  # it may be a secret
    return int(text)


def _rate_of(bps: int, where: str) -> int:
    if bps and not SLOWEST_BPS <= bps <= UNLIMITED_BPS:
        raise TraceError(f"{where}: RATE is {bps}; allowed: {SLOWEST_BPS} to {UNLIMITED_BPS} bit/s, or 0 for no limit")
    return bps or UNLIMITED_BPS


def _time_of(column: str) -> Callable[[int, str], int]:
    def convert(time_ns: int, where: str) -> int:
        if time_ns > LONGEST_DELAY_NS:
            raise TraceError(f"{where}: {column} is {time_ns}; allowed: at most {LONGEST_DELAY_NS} ns (an hour)")
        return time_ns

    return convert


def _share_of(column: str) -> Callable[[int, str], float]:
    def convert(scaled: int, where: str) -> float:
        if scaled > U32_MAX:
            raise TraceError(f"{where}: {column} is {scaled}; allowed: 0 to {U32_MAX} (100 %)")
        return scaled / U32_MAX

    return convert


def _limit_of(packets: int, where: str) -> int:
    if packets > _UNLIMITED_PACKETS:
        raise TraceError(f"{where}: LIMIT is {packets}; allowed: 0 (no limit) to {_UNLIMITED_PACKETS} packets")
    return packets or _UNLIMITED_PACKETS


_CONVERSIONS: dict[Role, Callable[[int, str], int | float]] = {
    "rate": _rate_of,
    "delay": _time_of("LATENCY"),
    "jitter": _time_of("JITTER"),
    "loss": _share_of("LOSS"),
    "queue": _limit_of,
    "duplicate": _share_of("DUP_PROB"),
}
