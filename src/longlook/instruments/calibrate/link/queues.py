"""The laws of bottlenecks: queues that drop or mark, and rates that change. `laws` says how a law is written."""

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longlook.instruments.calibrate.link.check import QuantityCheck, Times
from longlook.instruments.calibrate.link.laws import Case, Law, ObservedPackets

RATE_SHARE = 1e-4
_SETTLED_NS, _COUPLED_SETTLED_NS = 2_000_000_000, 4_000_000_000
_SHARE_TOLERANCE, _QUEUE_SHARE, _DROPS_TOLERANCE = 0.01, 0.1, 2.0
_DROPPED_TOLERANCE, _MARKED_TOLERANCE, _DELAY_SHARE = 0.01, 0.04, 0.1


class LosingQueue(Law):
    """A queue that drops packets, and whose check counts them: one that comes is enough."""

    def enough(self, came: NDArray[np.bool_]) -> bool:
        """Return whether any packet came."""
        return bool(came.any())


class Timetable(Law):
    """A law by which packets that come all at once leave at known times."""

    @abstractmethod
    def due_ns(self, case: Case) -> Times:
        """Return when each packet is due, from the first sending."""

    def check(self, case: Case, seen: ObservedPackets) -> Iterator[QuantityCheck]:
        """Yield the error of departures."""
        late, came_ns = seen.late, seen.received_ns - seen.sent_ns[0]
        worst_us = late.largest(np.abs(came_ns - self.due_ns(case))) / 1e3
        yield QuantityCheck(f"{late.word} error of a departure", "µs", 0.0, late.most_ns / 1e3, late.reason, worst_us)


@dataclass(frozen=True)
class Bottleneck(Law):
    """Packets that come all at once leave one after the other at `rate_bps`."""

    rate_bps: int

    def check(self, case: Case, seen: ObservedPackets) -> Iterator[QuantityCheck]:
        """Yield the checks of the law."""
        packet_ns = case.size_bytes * 8e9 / self.rate_bps
        gaps_ns = np.diff(seen.received_ns)
        mean_bps = case.size_bytes * 8e9 * (case.schedule.count - 1) / (seen.received_ns[-1] - seen.received_ns[0])
        mbit = self.rate_bps / 1e6
        reason = "0.01 %: a late first or last packet of 120 ms at 100 Mbit/s is 0.008 %"
        yield QuantityCheck("rate", "Mbit/s", mbit, mbit * RATE_SHARE, reason, float(mean_bps) / 1e6)
        worst_ns = seen.late.largest(np.abs(gaps_ns - packet_ns))
        yield QuantityCheck(
            f"{seen.late.word} error of a gap", "µs", 0.0, seen.late.most_ns / 1e3, seen.late.reason, worst_ns / 1e3
        )


@dataclass(frozen=True)
class DropTail(LosingQueue):
    """More packets come than `rate_bps` carries; `queue_bytes`, the packet in transmission included, hold the rest."""

    rate_bps: int
    queue_bytes: int

    def check(self, case: Case, seen: ObservedPackets) -> Iterator[QuantityCheck]:
        """Yield the checks of a queue that more than fills: it stays full except for the packet that left last.

        So if the last packet is sent at t, the link has sent ⌊t/T⌋ packets, T the time of one, and holds as many as
        fit, n. A packet that takes the place of one that left φ before leaves nT − φ after it came. As soon as the
        queue is full, the packet with the smallest φ has the longest delay.
        """
        spent_ns = seen.spent_ns[~seen.lost]
        packet_ns = case.size_bytes * 8e9 / self.rate_bps
        held = self.queue_bytes // case.size_bytes
        count, period_ns = case.schedule.count, case.schedule.period_ns
        last_ns = (count - 1) * period_ns
        through = held + math.floor(last_ns / packet_ns)
        reason = "one may come as another leaves"
        yield QuantityCheck("packets through", "", float(through), 1.0, reason, float(len(spent_ns)))
        came_ns = np.arange(count) * period_ns
        full_ns = came_ns[np.argmax(np.arange(1, count + 1) - came_ns // packet_ns >= held)]
        left_ns = np.arange(1, math.floor(last_ns / packet_ns) + 1) * packet_ns
        phase_ns = np.min(-left_ns[(left_ns >= full_ns) & (left_ns <= last_ns - period_ns)] % period_ns)
        longest_ms = (held * packet_ns - float(phase_ns)) / 1e6
        found = seen.late.largest(spent_ns) / 1e6 if len(spent_ns) else None
        yield QuantityCheck("longest delay", "ms", longest_ms, seen.late.most_ns / 1e6, seen.late.reason, found)

    def other_depths(self, records: NDArray[np.void], accepted: NDArray[np.bool_]) -> int:
        """Return how many packets met another depth than theory demands.

        The queue of a packet that arrives at t holds the accepted packets before it that have not left by t, the one in
        transmission included. The bottleneck must be the only stage: packets then leave at their due times.
        """
        arrival_ns, size_bytes, due_ns = (records[name] for name in ("arrival_ns", "size_bytes", "due_ns"))
        sizes = np.where(accepted, size_bytes, 0).astype(np.int64)
        came = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        left_at = due_ns[accepted].astype(np.int64)
        left = np.concatenate(([0], np.cumsum(sizes[accepted])))
        gone = left[np.searchsorted(left_at, arrival_ns.astype(np.int64), side="right")]
        return int(np.sum(came - gone != records["queue_bytes"].astype(np.int64)))


@dataclass(frozen=True)
class VaryingRate(Timetable):
    """Packets that come all at once leave as the rate of the moment carries them: from each time on, in bits/s."""

    steps: tuple[tuple[int, int], ...]

    def due_ns(self, case: Case) -> Times:
        """Return when the integral of the rate has reached each packet's last bit."""
        starts_ns = np.array([at_ns for at_ns, _ in self.steps], dtype=np.float64)
        rates = np.array([rate_bps for _, rate_bps in self.steps], dtype=np.float64)
        carried = np.concatenate(([0.0], np.cumsum(np.diff(starts_ns) * rates[:-1] / 1e9)))
        bits = np.arange(1, case.schedule.count + 1) * case.size_bytes * 8.0
        step = np.searchsorted(carried, bits, side="left") - 1
        due_ns: Times = starts_ns[step] + (bits - carried[step]) / rates[step] * 1e9
        return due_ns


@dataclass(frozen=True)
class Opportunities(Timetable):
    """At each of these times of a period one packet may leave."""

    times_ns: tuple[int, ...]
    period_ns: int

    def due_ns(self, case: Case) -> Times:
        """Return the moment of the opportunity that each packet takes."""
        number = np.arange(case.schedule.count)
        times_ns = np.array(self.times_ns, dtype=np.float64)
        due_ns: Times = times_ns[number % len(times_ns)] + number // len(times_ns) * self.period_ns
        return due_ns


@dataclass(frozen=True)
class ControlledDelay(LosingQueue):
    """More comes than `rate_bps` carries; CoDel (RFC 8289) drops from the head."""

    rate_bps: int
    target_ns: int
    interval_ns: int

    def check(self, case: Case, seen: ObservedPackets) -> Iterator[QuantityCheck]:
        """Yield the checks against the pseudocode of RFC 8289, packet by packet."""
        expected_ns = self.delays_ns(case.size_bytes, seen.sent_ns - seen.sent_ns[0])
        lost = float(np.sum(np.isnan(expected_ns)))
        reason = "two: where a wake-up decides on which side of a time a packet falls"
        yield QuantityCheck("packets lost", "", lost, _DROPS_TOLERANCE, reason, float(np.sum(np.isnan(seen.spent_ns))))
        middle_ms = float(np.nanmedian(expected_ns)) / 1e6
        tolerance_ms = (case.size_bytes * 8e9 / self.rate_bps + seen.late.median_ns) / 1e6
        found_ms = float(np.nanmedian(seen.spent_ns)) / 1e6
        yield QuantityCheck(
            "median delay", "ms", middle_ms, tolerance_ms, "one packet's time: one dropped earlier or later", found_ms
        )

    def delays_ns(self, size_bytes: int, sent_ns: Times) -> Times:
        """Return the delays of packets through CoDel as RFC 8289 writes it, in ns, with the transmission.

        A packet that is dropped has NaN.
        """
        packet_ns = size_bytes * 8e9 / self.rate_bps
        delays = np.full(len(sent_ns), np.nan)
        free_ns, head = 0.0, 0
        above_ns = next_ns = 0.0
        dropping, drops, before = False, 0, 0

        def take(now_ns: float) -> tuple[int, bool]:
            """Return the packet at the head, and whether delays have been above the target for an interval."""
            nonlocal head, above_ns
            taken = head
            head += 1
            waits_more = head < len(sent_ns) and sent_ns[head] <= now_ns
            if now_ns - sent_ns[taken] < self.target_ns or not waits_more:
                above_ns = 0.0
                return taken, False
            if above_ns == 0.0:
                above_ns = now_ns + self.interval_ns
                return taken, False
            return taken, now_ns >= above_ns

        while head < len(sent_ns):
            now_ns = max(free_ns, float(sent_ns[head]))
            taken, high = take(now_ns)
            if dropping and not high:
                dropping = False
            while dropping and now_ns >= next_ns and head < len(sent_ns):
                drops += 1
                taken, high = take(now_ns)
                if not high:
                    dropping = False
                else:
                    next_ns += self.interval_ns / math.sqrt(drops)
            if not dropping and high and head < len(sent_ns):
                taken, _ = take(now_ns)
                dropping = True
                recent = drops - before
                drops = recent if recent > 1 and now_ns - next_ns < 16 * self.interval_ns else 1
                next_ns = now_ns + self.interval_ns / math.sqrt(drops)
                before = drops
            free_ns = now_ns + packet_ns
            delays[taken] = free_ns - sent_ns[taken]
        return delays


@dataclass(frozen=True)
class FairShare(LosingQueue):
    """Flow 1 sends one packet of `one_in`, flow 0 the others, each more than half of `rate_bps`: each gets half."""

    rate_bps: int
    one_in: int

    def check(self, case: Case, seen: ObservedPackets) -> Iterator[QuantityCheck]:
        """Yield the checks of the law."""
        flow = np.array([case.flow(sequence) for sequence in range(len(seen.sent_ns))])
        last_ns = seen.sent_ns[-1]
        counted = (seen.received_ns > seen.sent_ns[0] + (last_ns - seen.sent_ns[0]) / 4) & (seen.received_ns < last_ns)
        share = float(np.mean(flow[counted] == 1)) if counted.any() else None
        yield QuantityCheck("share of the lighter flow", "", 0.5, _SHARE_TOLERANCE, "1 %: rounds of two packets", share)
        packet_ns = case.size_bytes * 8e9 / self.rate_bps
        carried = float(np.sum(counted)) * packet_ns / (last_ns - seen.sent_ns[0]) / 0.75
        yield QuantityCheck("utilisation", "", 1.0, _SHARE_TOLERANCE, "1 %: a few packets at the edges", carried)


@dataclass(frozen=True)
class EarlyDrop(LosingQueue):
    """RED: more comes than `rate_bps` carries, and the mean queue settles at the length at which
    RED drops the excess.
    """

    rate_bps: int
    minimum_bytes: int
    maximum_bytes: int
    probability: float

    def check(self, case: Case, seen: ObservedPackets) -> Iterator[QuantityCheck]:
        """Yield the checks of a load of a times the rate: a share d = 1 − 1/a is dropped.

        RED spreads drops evenly: at probability p they are 1 to 1/p packets apart, (1 + 1/p)/2 on average, so
        d = 2p/(1 + p) and p = d/(2 − d). The mean queue is where RED's line has that p.
        """
        packet_ns = case.size_bytes * 8e9 / self.rate_bps
        dropped = 1 - case.schedule.period_ns / packet_ns
        settled = seen.sent_ns - seen.sent_ns[0] > _SETTLED_NS
        share = float(np.mean(np.isnan(seen.spent_ns[settled])))
        yield QuantityCheck("share dropped", "", dropped, _SHARE_TOLERANCE, "1 %: the queue's own swing", share)
        p = dropped / (2 - dropped)
        queue_bytes = self.minimum_bytes + (self.maximum_bytes - self.minimum_bytes) * p / self.probability
        delay_ms = (queue_bytes + case.size_bytes) * 8e3 / self.rate_bps
        found = float(np.nanmean(seen.spent_ns[settled])) / 1e6
        yield QuantityCheck(
            "mean delay", "ms", delay_ms, delay_ms * _QUEUE_SHARE, "10 %: the average lags behind the queue", found
        )


@dataclass(frozen=True)
class StepMarks(Law):
    """ECN-capable packets that come all at once: packets that will wait for longer than `threshold_ns` are marked."""

    rate_bps: int
    threshold_ns: int

    def check(self, case: Case, seen: ObservedPackets) -> Iterator[QuantityCheck]:
        """Yield the checks of marks: the k-th packet, from 0, waits for the times of k packets."""
        packet_ns = case.size_bytes * 8e9 / self.rate_bps
        unmarked = math.floor(self.threshold_ns / packet_ns) + 1
        reason = "one may come as another leaves"
        found = None if seen.marked is None else float(np.sum(seen.marked))
        yield QuantityCheck("packets marked", "", float(case.schedule.count - unmarked), 1.0, reason, found)
        first = None if seen.marked is None or not seen.marked.any() else float(np.argmax(seen.marked))
        yield QuantityCheck("the first of them", "", float(unmarked), 1.0, reason, first)


@dataclass(frozen=True)
class Coupled(LosingQueue):
    """More comes than `rate_bps` carries, in flow 0, which is Classic; flow 1, if there is one, is L4S.

    The coupled queue drops Classic packets with p'², so that what is left fits and waits for `target_ns`, and marks
    L4S packets with `coupling` times p' (RFC 9332, 2.1).
    """

    rate_bps: int
    target_ns: int
    coupling: float

    def check(self, case: Case, seen: ObservedPackets) -> Iterator[QuantityCheck]:
        """Yield the checks of a queue that serves L4S packets first and drops none, and Classic ones after them.

        With Classic at c times the rate and L4S at l, a share d = 1 − (1 − l)/c of Classic is dropped. This share is
        p'², and L4S packets are marked with the coupling times p'. The controller holds the Classic wait at its target.
        """
        packet_ns = case.size_bytes * 8e9 / self.rate_bps
        load = packet_ns / case.schedule.period_ns
        light = load / case.one_in if case.one_in else 0.0
        dropped = 1 - (1 - light) / (load - light)
        settled = seen.sent_ns - seen.sent_ns[0] > _COUPLED_SETTLED_NS
        scalable = np.array([case.flow(sequence) == 1 for sequence in range(len(seen.sent_ns))])
        classic, l4s = settled & ~scalable, settled & scalable
        share = float(np.mean(np.isnan(seen.received_ns[classic])))
        yield QuantityCheck(
            "share of Classic dropped", "", dropped, _DROPPED_TOLERANCE, "1 %: the queue's own swing", share
        )
        delay_ms = (self.target_ns + packet_ns) / 1e6
        found_ms = float(np.nanmean((seen.received_ns - seen.sent_ns)[classic])) / 1e6
        swing = "10 %: the controller swings about its target"
        yield QuantityCheck("mean delay of Classic", "ms", delay_ms, delay_ms * _DELAY_SHARE, swing, found_ms)
        if case.one_in:
            expected = self.coupling * math.sqrt(dropped)
            found = None if seen.marked is None else float(np.mean(seen.marked[l4s]))
            reason = "4 %: 99.9 % of such draws are within 3 %, and p' swings"
            yield QuantityCheck("share of L4S marked", "", expected, _MARKED_TOLERANCE, reason, found)
            lost = float(np.sum(np.isnan(seen.received_ns[l4s])))
            yield QuantityCheck("L4S packets lost", "", 0.0, 0.0, "none: they are marked instead", lost)
