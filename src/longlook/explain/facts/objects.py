"""When each object of a load was asked for, left the server, passed the bottleneck and arrived. Pure."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from longlook.core import ConnectionState, Trial, Vantage
from longlook.explain.facts.columns import NEVER, Booleans, Integers, are, codes, integers
from longlook.explain.facts.link import LinkFacts
from longlook.explain.facts.sender import SenderFacts
from longlook.timeline import Competition, Kind, Timeline


@dataclass(frozen=True)
class OpeningFacts:
    """The opening of a load's first connection, in ns since the trial's start."""

    started_ns: int  # the client began to open it
    ready_ns: int  # the client could send its first request; `started_ns` with 0-RTT data

    @classmethod
    def of(cls, timeline: Timeline, trial: Trial) -> "OpeningFacts | None":
        """Return the opening, or None if the link saw no connection open; computed once per timeline."""
        if "opening facts" not in timeline.derived:
            up, down = (LinkFacts.of(timeline, trial, direction) for direction in ("up", "down"))
            timeline.derived["opening facts"] = _opening(timeline, up, down)
        known: OpeningFacts | None = timeline.derived["opening facts"]
        return known


def _opening(timeline: Timeline, up: LinkFacts, down: LinkFacts) -> OpeningFacts | None:
    rows = timeline.select([Kind.CONNECTION_STARTED, Kind.HANDSHAKE_DONE], "client")
    rows = rows.filter(pa.array(down.is_ours(rows["flow"])))
    times = integers(rows["time_ns"])
    started = times[are(rows["kind"], Kind.CONNECTION_STARTED)]
    done = are(rows["kind"], Kind.HANDSHAKE_DONE)
    if len(started) == 0 or not up.ours.any():
        return None
    first = int(started.min())
    if (done & are(rows["name"], ConnectionState.ZERO_RTT)).any() or (up.ours & up.early).any():
        return OpeningFacts(first, first)
    if done.any():
        return OpeningFacts(first, max(first, int(times[done].min())))
    return OpeningFacts(first, _second_flight(down, up, first))


def _second_flight(down: LinkFacts, up: LinkFacts, started_ns: int) -> int:
    """Return when the client's first packet behind its handshake arrived at the link, for clients that do not say.

    With QUIC it is the first with a short header, with TCP the first with data after data from the server.
    """
    answered = down.departure_ns[down.ours & (down.payload_bytes > 0) & down.delivered]
    first_answer = int(answered.min()) if len(answered) else NEVER
    later = up.arrival_ns[up.ours & up.carries_data & (~up.is_tcp | (up.arrival_ns > first_answer))]
    return max(started_ns, int(np.min(later))) if len(later) else started_ns


@dataclass(frozen=True)
class ObjectFacts:
    """The objects of a load in the order in which they were asked for; arrays of shape (objects,), times in ns.

    An object's first or last byte is taken to come with the last packet with data that left the link towards the client
    before the client's stamp. If the byte was held back behind a gap, this is the packet that closed the gap.
    """

    path: tuple[str, ...]
    asked_ns: Integers  # the client's caller issued the request
    request_sent_ns: Integers  # the request's packet arrived at the link
    request_arrived_ns: Integers  # it left the link towards the server
    answered_ns: Integers  # the packet with the first byte arrived at the bottleneck
    all_sent_ns: Integers  # the packet with the last byte arrived at the link
    served_ns: Integers  # it had passed the bottleneck
    done_ns: Integers  # the last byte arrived at the client, or the object failed
    size_bytes: Integers
    out_of_streams: Booleans  # its request waited until the client could open a stream, by the client's log
    critical: Booleans  # on the chain of objects, each asked for when the one before had arrived, that ends the load

    @property
    def moments_ns(self) -> tuple[Integers, ...]:
        """All stamps."""
        return (
            self.asked_ns,
            self.request_sent_ns,
            self.request_arrived_ns,
            self.answered_ns,
            self.served_ns,
            self.done_ns,
        )

    def behind(self, up: LinkFacts, down: LinkFacts) -> "ObjectFacts":
        """Return the same objects as the link behind the middle saw them, whose directions are given.

        There the middle asks, once a request has passed the link towards the client, and has the answer when it sends
        it on. A request may share its datagram with the end of a handshake: it does if the answer waited for that.
        """
        able, done = self.request_arrived_ns, self.all_sent_ns
        first_packet, last_packet = _packet_before(down, self.answered_ns), _packet_before(down, done)
        answered = np.where(first_packet < 0, self.answered_ns, np.append(down.arrival_ns, NEVER)[first_packet])
        sent = _next(np.sort(up.arrival_ns[up.ours & up.carries_data]), able)
        arrived = _next_departure(up, able)
        secure = _packet_before(up, answered, up.ours & up.delivered & up.handshake)
        secure_ns = np.append(up.arrival_ns, NEVER)[secure]
        shared = (secure >= 0) & ((secure_ns > sent) | (arrived > answered)) & (secure_ns >= able)
        sent = np.where(shared, secure_ns, sent)
        arrived = np.minimum(np.where(shared, np.append(up.departure_ns, NEVER)[secure], arrived), done)
        answered = np.maximum(answered, arrived)
        served = np.where(last_packet < 0, done, np.append(down.service_end_ns, NEVER)[last_packet])
        return replace(
            self,
            request_sent_ns=np.minimum(sent, done),
            request_arrived_ns=arrived,
            answered_ns=np.minimum(answered, done),
            all_sent_ns=np.minimum(np.append(down.arrival_ns, NEVER)[last_packet], done),
            served_ns=np.clip(served, np.minimum(answered, done), done),
            done_ns=done,
            out_of_streams=np.zeros(len(done), np.bool_),
        )

    @classmethod
    def of(cls, timeline: Timeline, trial: Trial) -> "ObjectFacts":
        """Return the objects of a trial's timeline that ended, computed once per timeline."""
        if "object facts" not in timeline.derived:
            up, down = (LinkFacts.of(timeline, trial, direction) for direction in ("up", "down"))
            blocked = [each.blocked for each in SenderFacts.all_of(timeline, Vantage.CLIENT)]
            limited = [marks.time_ns[marks.named("streams_bidi", "streams_uni")] for marks in blocked]
            limited_ns = np.sort(np.concatenate([np.zeros(0, np.int64), *limited]))
            timeline.derived["object facts"] = _facts(timeline, OpeningFacts.of(timeline, trial), up, down, limited_ns)
        known: ObjectFacts = timeline.derived["object facts"]
        return known


_STAMPS = (Kind.REQUEST_SENT, Kind.FIRST_BYTE, Kind.OBJECT_DONE, Kind.OBJECT_FAILED)


def _facts(
    timeline: Timeline, opening: OpeningFacts | None, up: LinkFacts, down: LinkFacts, limited_ns: Integers
) -> ObjectFacts:
    rows = timeline.select(_STAMPS, "client")
    rows = rows.filter(pa.array(down.is_ours(rows["flow"])))
    objects, paths = _objects(rows)
    asked, first, done, failed = (_stamps(rows, kind, objects, len(paths)) for kind in _STAMPS)
    sizes = np.zeros(len(paths), np.int64)
    whole = are(rows["kind"], Kind.OBJECT_DONE)
    sizes[objects[whole]] = integers(rows["size_bytes"])[whole]
    done = np.where(done < NEVER, done, failed)
    competition, window = Competition.of(timeline), timeline.load_window_ns()
    if competition is not None and window is not None:  # its load is a time; clients that are stopped report no object
        begin_ns = window[0] if opening is None else opening.ready_ns
        paths, asked, done = [""], np.array([begin_ns]), np.array([window[1]])
        first, sizes = np.array([NEVER]), np.zeros(1, np.int64)
    ended = (done < NEVER) & (asked < NEVER)
    order = np.flatnonzero(ended)[np.argsort(asked[ended], kind="stable")]
    asked, first, done = asked[order], first[order], done[order]
    able = asked if opening is None else np.maximum(asked, opening.ready_ns)
    sent = _next(np.sort(up.arrival_ns[up.ours & up.carries_data]), able)
    arrived = _next_departure(up, able)
    first_packet, last_packet = _packet_before(down, first), _packet_before(down, done)
    answered = np.maximum(np.append(down.arrival_ns, NEVER)[first_packet], arrived)
    next_answer = _next(down.arrival_ns[down.ours & down.carries_data & down.delivered], arrived)
    answered = np.where((first_packet < 0) | (first > done), np.minimum(next_answer, done), answered)
    late = np.append(limited_ns, NEVER)[np.searchsorted(limited_ns, able, side="left")] < answered
    request = _packet_before(up, answered)  # a client out of streams sends it when it gets one: as late as can be
    late &= (request >= 0) & (np.append(up.arrival_ns, NEVER)[request] >= able)
    sent = np.where(late, np.append(up.arrival_ns, NEVER)[request], sent)
    arrived = np.where(late, np.append(up.departure_ns, NEVER)[request], arrived)
    served = np.where((last_packet < 0) | (sizes[order] == 0), done, np.append(down.service_end_ns, NEVER)[last_packet])
    return ObjectFacts(
        path=tuple(paths[place] for place in order.tolist()),
        asked_ns=asked,
        request_sent_ns=np.minimum(sent, done),
        request_arrived_ns=np.minimum(arrived, done),
        answered_ns=np.minimum(answered, done),
        all_sent_ns=np.minimum(np.append(down.arrival_ns, NEVER)[last_packet], done),
        served_ns=np.clip(served, np.minimum(answered, done), done),
        done_ns=done,
        size_bytes=sizes[order],
        out_of_streams=late,
        critical=_critical(asked, done),
    )


def _objects(rows: pa.Table) -> tuple[Integers, list[str]]:
    """Return the object of each row, by path and connection, and the path of each object."""
    path, paths = codes(rows["name"])
    flow, flows = codes(rows["flow"])
    _, first, objects = np.unique(path * (len(flows) + 1) + flow, return_index=True, return_inverse=True)
    return objects.astype(np.int64), [paths[path[place]] for place in first.tolist()]


def _stamps(rows: pa.Table, kind: Kind, objects: Integers, count: int) -> Integers:
    """Return the first time of each object, NEVER for none."""
    own = are(rows["kind"], kind)
    times = np.full(count, NEVER)
    np.minimum.at(times, objects[own], integers(rows["time_ns"])[own])
    return times


def _next(times_ns: Integers, after_ns: Integers) -> Integers:
    """Return the first of some ascending times at or after each moment, NEVER for none."""
    return np.append(times_ns, NEVER)[np.searchsorted(times_ns, after_ns, side="left")]


def _next_departure(up: LinkFacts, after_ns: Integers) -> Integers:
    """Return when the first packet with data that arrived at or after each moment and left the link did so."""
    chosen = np.flatnonzero(up.ours & up.carries_data & up.delivered)
    arrivals = up.arrival_ns[chosen]
    return np.append(up.departure_ns[chosen], NEVER)[np.searchsorted(arrivals, after_ns, side="left")]


def _packet_before(facts: LinkFacts, before_ns: Integers, of: Booleans | None = None) -> Integers:
    """Return the place of the last packet with data that had left the link at each moment, -1 for none.

    `of` are other packets to choose from.
    """
    chosen = np.flatnonzero(facts.ours & facts.carries_data & facts.delivered if of is None else of)
    chosen = chosen[np.argsort(facts.departure_ns[chosen], kind="stable")]
    place = np.searchsorted(facts.departure_ns[chosen], before_ns, side="right") - 1
    return np.where(place >= 0, np.append(chosen, -1)[place], -1)


def _critical(asked_ns: Integers, done_ns: Integers) -> Booleans:
    """Return which objects are on the critical path: from the last to arrive back to the first.

    The object before is the last that had arrived when the caller asked for this one; its arrival let this be asked
    for. Objects that were asked for before anything arrived begin the path.
    """
    critical = np.zeros(len(asked_ns), np.bool_)
    by_end = np.argsort(done_ns, kind="stable")
    place = len(by_end) - 1
    while place >= 0:
        current = by_end[place]
        critical[current] = True
        place = int(np.searchsorted(done_ns[by_end[:place]], asked_ns[current], side="right")) - 1
    return critical
