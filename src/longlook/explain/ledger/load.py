"""The load of a trial as the ledger sees it: its span, its packets in both directions, its phases. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from longlook.core import Trial, Vantage, find_protocol
from longlook.explain.facts.columns import Booleans, Integers, between
from longlook.explain.facts.credits import Http2Windows
from longlook.explain.facts.link import LinkFacts
from longlook.explain.facts.objects import ObjectFacts, OpeningFacts
from longlook.explain.facts.sender import SenderFacts
from longlook.explain.ledger.fallback import Fallback, find_fallback
from longlook.timeline import Timeline


@dataclass(frozen=True)
class Load:
    """All that the rules of the ledger read of one trial. `data` is the direction of most payload."""

    start_ns: int
    end_ns: int
    connecting_ns: int  # the first connection began to open
    connected_ns: int  # the client could send its first request
    fallback: Fallback | None
    data: LinkFacts
    back: LinkFacts
    objects: ObjectFacts
    senders: tuple[SenderFacts, ...]  # of the end that sends the data
    client: tuple[SenderFacts, ...]
    live: bool
    paced_kernel: bool  # the trial's TCP is paced by its queueing discipline
    trial: Trial
    http2: Mapping[str, Http2Windows]  # by flow of a sender, over HTTP/2
    behind: "Load | None" = None  # the same load on the link behind the middle, where there is one
    beyond: tuple[LinkFacts, ...] = ()  # the other link's directions, where its connection crosses that, too

    @classmethod
    def of(cls, timeline: Timeline, trial: Trial, *, live: bool) -> "Load | None":
        """Return the load of a trial, or None if it did not begin or end, or the link saw none of its packets."""
        span = timeline.load_window_ns()
        data, back = (LinkFacts.of(timeline, trial, direction) for direction in ("down", "up"))
        if span is None or span[1] <= span[0] or not data.ours.any():
            return None
        opening = OpeningFacts.of(timeline, trial)
        load = cls(
            start_ns=span[0],
            end_ns=span[1],
            connecting_ns=span[0] if opening is None else opening.started_ns,
            connected_ns=span[0] if opening is None else opening.ready_ns,
            fallback=find_fallback(timeline, trial, span[0], data, back),
            data=data,
            back=back,
            objects=ObjectFacts.of(timeline, trial),
            senders=SenderFacts.all_of(timeline, Vantage.SERVER),
            client=SenderFacts.all_of(timeline, Vantage.CLIENT),
            live=live,
            paced_kernel=bool(trial.tcp.get("pacing", False)),
            trial=trial,
            http2=_http2_windows(timeline, trial),
        )
        return with_behind(load, timeline) if trial.has_middle else load

    def active(self, times_ns: Integers) -> Booleans:
        """Return at which times an answer has begun to leave its sender and not passed the bottleneck."""
        return between(times_ns, self.objects.answered_ns, self.objects.served_ns)


def _http2_windows(timeline: Timeline, trial: Trial) -> dict[str, Http2Windows]:
    """Return the windows of the connections over TCP on which HTTP/2 is spoken."""
    if "h2" not in find_protocol(trial.protocol).spoken:
        return {}
    flows = [sender.flow for sender in SenderFacts.all_of(timeline, Vantage.SERVER) if sender.source == "tcp"]
    return {flow: Http2Windows.of(timeline, trial, flow) for flow in flows}


def with_behind(load: Load, timeline: Timeline) -> Load:
    """Return a load over two links with what the second saw of it, or as it is if that saw none of its packets.

    A router passes on one connection, whose sender is the server. A proxy ends it: towards the client the proxy sends,
    of which there is no log, and behind it the proxy is the server's client.
    """
    data, back = (LinkFacts.of(timeline, load.trial, direction, Vantage.BEHIND) for direction in ("down", "up"))
    if not data.ours.any():
        return load
    behind = replace(load, data=data, back=back, objects=load.objects.behind(back, data), fallback=None)
    if load.trial.proxy is None:
        opened_before = replace(behind, connecting_ns=load.start_ns, connected_ns=load.start_ns)
        far = replace(opened_before, beyond=(load.data, load.back))
        return replace(load, behind=far, beyond=(data, back))
    connecting_ns, connected_ns = _opened(behind)
    own = {data.flows[code] for code in np.unique(data.flow[data.ours & (data.flow >= 0)]).tolist()}
    opened = replace(
        behind,
        connecting_ns=connecting_ns,
        connected_ns=connected_ns,
        senders=tuple(sender for sender in load.senders if sender.flow in own),
        client=(),
        trial=replace(load.trial, client=load.trial.proxy),
    )
    near = replace(load.trial, server=load.trial.proxy)
    return replace(load, senders=(), trial=near, behind=opened)


def _opened(behind: Load) -> tuple[int, int]:
    """Return when a proxy began to open its first connection for a load, and when it could send over it.

    Over QUIC that is when it sent the first request; over TCP it passes on what the client sends from then on. If its
    connections are older than the load, both are the load's begin.
    """
    back, start_ns = behind.back, behind.start_ns
    first = {code: int(back.arrival_ns[back.flow == code].min()) for code in np.unique(back.flow[back.ours]).tolist()}
    new = {code: moment for code, moment in first.items() if moment >= start_ns}
    if not new:
        return start_ns, start_ns
    code, begun_ns = min(new.items(), key=lambda each: each[1])
    of_flow = back.flow == code
    if not back.is_tcp[of_flow].any():
        return begun_ns, max(begun_ns, int(behind.objects.request_sent_ns.min(initial=behind.end_ns)))
    data = back.arrival_ns[of_flow & back.carries_data]
    return begun_ns, int(data.min(initial=behind.end_ns))
