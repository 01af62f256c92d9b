"""How much of the answers' data can have reached the client by when, from the link's log. Pure.

Over TCP that is exact: the bytes of the stream that had come without a gap. Packets of QUIC are encrypted; each has
room for at most its payload less what every packet must have.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import accumulate, compress, islice, pairwise

from longlook.lab.link_log import DELIVERED, OPENS_TCP, SYN, TCP, UDP, UP, LinkLog, Records

_SHORT, _INITIAL, _RETRY, _VERSIONS = 1, 2, 5, 6  # of `quic_form`
_LEAST_OF_PACKET_BYTES = 20  # first byte, number, tag; type of a STREAM frame and its stream's number
_OFFSET_BYTES, _FULL_BYTES = 4, 1000
"""The offset field of a STREAM frame behind the first 16 KiB of its stream, and the payload from which on a packet has
one.
"""
_BEFORE_OFFSETS_BYTES = 72
"""By how much a stream's first 16 KiB may have more room: 18 packets of the size above, whose frames need no offset."""
_ACKNOWLEDGED_NS, _HEARINGS = 25_000_000, 2
"""After how long a client of QUIC acknowledges (RFC 9000, 18.2), and how often it may have to until it is heard."""
_NEVER_NS = 2**63
_NUMBERS, _HALF = 2**32, 2**31
"""Sequence numbers of TCP, which begin again behind the last."""


@dataclass(frozen=True)
class Delivered:
    """The packets that the links delivered to a flow's client. Times are in ns since 1970, by the link's clock.

    `bound_ns` is by how much times may be wrong, `early` whether the first packets of a connection may ask for
    something, and `framed` whether the packets of UDP are QUIC.
    """

    log: LinkLog
    bound_ns: int = 0
    early: bool = True
    framed: bool = True

    def data_bytes(self, since_ns: int, until_ns: int, bodies: int = 0) -> int:
        """Return how many bytes can have reached the client by `until_ns`, for requests since `since_ns` of `bodies`
        bodies.
        """
        asked_ns = self._asked_ns(since_ns)
        if asked_ns is None:
            return 0
        room = sum(part.room(asked_ns - self.bound_ns, until_ns) for part in self._parts)
        return room + (_BEFORE_OFFSETS_BYTES * bodies if any(part.protocol == UDP for part in self._parts) else 0)

    def first_packet_ns(self, since_ns: int) -> int | None:
        """Return when the first packet of TCP or UDP reached the client at or after a time; None: none did."""
        return _earliest(part.first_ns(since_ns) for part in self._parts)

    def first_data_ns(self, since_ns: int) -> int | None:
        """Return when the first data reached the client that can have been asked for since a time; None: none did."""
        if (asked_ns := self._asked_ns(since_ns)) is None:
            return None
        return _earliest(part.first_data_ns(asked_ns - self.bound_ns) for part in self._parts)

    def late_bytes(self, after_ns: int, most: Mapping[int, int]) -> Iterator[tuple[int, int]]:
        """Yield the protocol of each flow of which more than the most came after a time, and how much.

        Repeats over TCP bring nothing. Over QUIC they look like data. Packets that overtake each other may lead a
        sender to believe in losses, and it may repeat much until it has heard of the end. If a flow has such packets,
        only packets sent after that count.
        """
        for part in self._parts:
            if (late := part.came_after(after_ns)) > most[part.protocol]:
                if part.protocol == UDP and not part.in_order:
                    late = part.came_after(
                        after_ns, sent_ns=after_ns + _HEARINGS * (_ACKNOWLEDGED_NS + self._crossing_ns)
                    )
                if late > most[part.protocol]:
                    yield part.protocol, late

    @cached_property
    def _crossing_ns(self) -> int:
        """Return how long the slowest packet took over a link to the server."""
        names = ("direction", "verdict", "arrival_ns", "departure_ns")
        rows = (row for log in self.log.logs for row in log.rows(*names))
        return max(
            (left - came for direction, verdict, came, left in rows if (direction, verdict) == (UP, DELIVERED)),
            default=0,
        )

    def _asked_ns(self, since_ns: int) -> int | None:
        """Return when the first packet since a time that can ask for something had crossed to the server."""
        if since_ns not in self._asked:
            self._asked[since_ns] = _earliest(self._asked_over(log, since_ns) for log in self.log.logs)
        return self._asked[since_ns]

    @cached_property
    def _asked(self) -> dict[int, int | None]:
        return {}

    def _asked_over(self, log: Records, since_ns: int) -> int | None:
        """Return the same for one link.

        A new connection of QUIC asks only after the server's first answer, except with early data. Every packet of TCP
        counts, since nothing says that a program speaks TLS.
        """
        offset_ns = log.unix_minus_monotonic_ns
        opening, answered_ns = set[int](), dict[int, int]()
        names = ("direction", "verdict", "quic_form", "flow", "arrival_ns", "departure_ns")
        for direction, verdict, form, flow, arrival_ns, departure_ns in zip(*map(log.__getitem__, names), strict=True):
            if direction == UP and arrival_ns >= since_ns - offset_ns:
                if form == _INITIAL and not self.early:
                    opening.add(flow)
                heard_ns = answered_ns.get(flow, _NEVER_NS) - self.bound_ns if flow in opening else 0
                if verdict == DELIVERED and arrival_ns >= heard_ns:
                    return int(departure_ns) + offset_ns
            elif verdict == DELIVERED and flow in opening and direction != UP and form not in (_RETRY, _VERSIONS):
                answered_ns.setdefault(flow, departure_ns)
        return None

    @cached_property
    def _parts(self) -> "Sequence[_Part]":
        return [
            _Part(log, chosen, protocol, self.framed)
            for log in self.log.logs
            for of_flow in log.flows()
            for protocol in (TCP, UDP)
            if 1 in (chosen := log.every(log.reached_client(), of_flow, log.equal("ip_protocol", protocol)))
        ]


def _earliest(times_ns: Iterable[int | None]) -> int | None:
    return min((time_ns for time_ns in times_ns if time_ns is not None), default=None)


@dataclass(frozen=True)
class _Part:
    """The packets of one flow that reached the client over one link, in that order. Times are in ns since 1970."""

    log: Records
    chosen: bytes  # for each record, whether it is one of them
    protocol: int
    framed: bool

    def room(self, from_ns: int, until_ns: int) -> int:
        """Return how much data can have come by a time, of packets that came to the link from another on."""
        first = bisect_left(self._times_ns, self._logged_ns(from_ns))
        last = bisect_right(self._times_ns, self._logged_ns(until_ns))
        return self._totals[last] - self._totals[first] - self._before(first, last, from_ns) if last > first else 0

    def _before(self, first: int, last: int, from_ns: int) -> int:
        """Return the room of the first packets of a range that had come to the link before a time."""
        found, logged_ns = 0, self._logged_ns(from_ns)
        for index, arrival_ns in enumerate(islice(self._arrivals_ns(), first, last), first):
            if arrival_ns >= logged_ns:
                break
            found += min(self._payloads[index], self._totals[index + 1] - self._totals[index])
        return found

    def first_ns(self, since_ns: int) -> int | None:
        """Return when the first packet came at or after a time."""
        return self._time_ns(bisect_left(self._times_ns, self._logged_ns(since_ns)))

    def first_data_ns(self, from_ns: int) -> int | None:
        """Return when the first packet with data came, of packets that came to the link from a time on."""
        logged_ns, totals = self._logged_ns(from_ns), self._totals
        first = bisect_left(self._times_ns, logged_ns)
        for index, arrival_ns in enumerate(islice(self._arrivals_ns(), first, None), first):
            if arrival_ns >= logged_ns and totals[index + 1] > totals[index]:
                return self._time_ns(index)
        return None

    def came_after(self, after_ns: int, sent_ns: int = 0) -> int:
        """Return how much data can have come after a time, in packets that came to the link at or after another."""
        first = bisect_right(self._times_ns, self._logged_ns(after_ns))
        if not sent_ns:
            return self._totals[-1] - self._totals[first]
        late = compress(
            pairwise(islice(self._totals, first, None)),
            map(self._logged_ns(sent_ns).__le__, islice(self._arrivals_ns(), first, None)),
        )
        return sum(behind - before for before, behind in late)

    @cached_property
    def in_order(self) -> bool:
        """Whether no packet overtook another."""
        arrivals_ns = list(self._arrivals_ns())
        return arrivals_ns == sorted(arrivals_ns)

    def _logged_ns(self, unix_ns: int) -> int:
        return unix_ns - self.log.unix_minus_monotonic_ns

    def _time_ns(self, index: int) -> int | None:
        return self._times_ns[index] + self.log.unix_minus_monotonic_ns if index < len(self._times_ns) else None

    @property
    def _times_ns(self) -> list[int]:
        return self._departures[0]

    @cached_property
    def _departures(self) -> tuple[list[int], list[int] | None]:
        """Return when the packets left the link, and which records they are in if the log has them in another order."""
        left_ns = list(compress(self.log["departure_ns"], self.chosen))
        in_order = sorted(left_ns)
        if left_ns == in_order:
            return left_ns, None
        return in_order, sorted(range(len(left_ns)), key=left_ns.__getitem__)

    def _column(self, name: str) -> list[int]:
        column, order = list(compress(self.log[name], self.chosen)), self._departures[1]
        return column if order is None else [column[index] for index in order]

    def _arrivals_ns(self) -> Iterator[int]:
        """Yield when the packets came to the link; mostly only the first of them are asked for."""
        logged = self._departures[1] is None
        return compress(self.log["arrival_ns"], self.chosen) if logged else iter(self._column("arrival_ns"))

    @cached_property
    def _payloads(self) -> list[int]:
        return self._column("payload_bytes")

    @cached_property
    def _totals(self) -> Sequence[int]:
        """Return how much data can have come before each packet, and behind the last; the first number is any."""
        if self.protocol == TCP:
            return in_stream(self._column("transport_sequence"), self._payloads, self._column("tcp_flags"))
        return list(accumulate(self._rooms(), initial=0))

    def _rooms(self) -> Iterable[int]:
        """Return how many bytes of data each packet of UDP can have."""
        if not self.framed:
            return self._payloads
        short = self.log.every(self.chosen, self.log.equal("quic_form", _SHORT))
        least = _LEAST_OF_PACKET_BYTES + min(compress(self.log["connection_id_bytes"], short), default=0)
        room = {
            payload: max(0, payload - least - (_OFFSET_BYTES if payload >= _FULL_BYTES else 0))
            for payload in {0, *self._payloads}
        }
        return map(room.__getitem__, self._once())

    def _once(self) -> Iterable[int]:
        """Return the payload of each packet, 0 if a copy of it came before: QUIC takes no packet twice."""
        if not any(self.log["copy"]):
            return self._payloads
        numbers = self._column("sequence")
        last = len(numbers) - 1
        first = {number: last - index for index, number in enumerate(reversed(numbers))}
        return [size if first[n] == i else 0 for i, (n, size) in enumerate(zip(numbers, self._payloads, strict=True))]


def in_stream(sequences: list[int], payloads: list[int], flags: Sequence[int]) -> Sequence[int]:
    """Return how many bytes of a stream of TCP had come without a gap, before each packet and behind the last.

    The first number is arbitrary: only differences count. All packets are of one direction, in the order in which they
    came.
    """
    first = next((index for index, payload in enumerate(payloads) if payload), None)
    if first is None:
        return [0] * (len(payloads) + 1)
    last = next(index for index in range(len(payloads) - 1, -1, -1) if payloads[index])
    ends = list(accumulate(payloads[first : last + 1], initial=sequences[first]))
    opened = compress(sequences, bytes(flags).translate(OPENS_TCP))
    from_the_begin = {(sequence + 1) % _NUMBERS for sequence in opened} <= {sequences[first]}
    if from_the_begin and sequences[first : last + 1] == ends[:-1]:
        return [*[ends[0]] * first, *ends, *[ends[-1]] * (len(payloads) - 1 - last)]
    return list(_without_gaps(sequences, payloads, flags))


def _without_gaps(sequences: Sequence[int], payloads: Sequence[int], flags: Sequence[int]) -> Iterator[int]:
    """Yield the same for a stream with gaps, repeats, a wrapped number, or several connections one after the other."""
    total, opened, waiting = 0, -1, list[tuple[int, int]]()
    data = list(compress(sequences, payloads))
    if max(data) - min(data) >= _HALF:  # the stream's numbers begin again on their way
        data = [number for number in data if number >= _HALF]
    next_number = min(data)  # where the log has no SYN
    yield total
    for sequence, payload, flag in zip(sequences, payloads, flags, strict=True):
        if flag & SYN and sequence != opened:
            opened, next_number, waiting = sequence, (sequence + 1) % _NUMBERS, []
        elif sequence == next_number and not waiting:
            total, next_number = total + payload, (next_number + payload) % _NUMBERS
        elif payload:
            begin, before = total + (sequence - next_number + _HALF) % _NUMBERS - _HALF, total
            heappush(waiting, (begin, begin + payload))
            while waiting and waiting[0][0] <= total:
                total = max(total, heappop(waiting)[1])
            next_number = (next_number + total - before) % _NUMBERS
        yield total
