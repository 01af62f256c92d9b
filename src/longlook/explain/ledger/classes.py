"""The classes of time in a ledger, and which class an interval of time is given (docs/reference/ledger.md)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from longlook.explain.facts.columns import Booleans, Integers


class LedgerClass(StrEnum):
    """The use of a stretch of a load's time; `CLASSES` explains each."""

    FALLBACK = "fallback"
    HANDSHAKE = "handshake"
    LINK_USEFUL = "link_useful"
    LINK_OVERHEAD = "link_overhead"
    LINK_WASTE = "link_waste"
    LINK_OTHERS = "link_others"
    LINK_DOWN = "link_down"
    TIMER = "timer"
    ACK_WAIT = "ack_wait"
    LOSS_DETECTION = "loss_detection"
    APPLICATION = "application"
    STREAM_CREDIT = "stream_credit"
    CONNECTION_CREDIT = "connection_credit"
    HTTP2_STREAM_CREDIT = "http2_stream_credit"
    HTTP2_CONNECTION_CREDIT = "http2_connection_credit"
    SEND_BUFFER = "send_buffer"
    CONGESTION_WINDOW = "congestion_window"
    PACING = "pacing"
    CPU = "cpu"
    SERVER_THINK = "server_think"
    STREAM_IDS = "stream_ids"
    PROPAGATION = "propagation"
    REQUEST = "request"
    CLIENT_IDLE = "client_idle"
    UNEXPLAINED = "unexplained"


CLASSES: Mapping[LedgerClass, str] = {
    LedgerClass.FALLBACK: "QUIC brings nothing, and the client has not yet tried TCP, over which objects come later",
    LedgerClass.HANDSHAKE: "the client cannot send its first request yet",
    LedgerClass.LINK_USEFUL: "the bottleneck serves data of this load that had not been delivered before",
    LedgerClass.LINK_OVERHEAD: "it serves headers, acknowledgements, cryptography, padding or probes of this load",
    LedgerClass.LINK_WASTE: "it serves data of this load that had been delivered, or that is delivered again",
    LedgerClass.LINK_OTHERS: "it serves others while packets of this load wait",
    LedgerClass.LINK_DOWN: "it serves nothing while packets of this load wait: rate 0, or an opportunity yet to come",
    LedgerClass.TIMER: "nothing is in flight, and the sender goes on when a probe, retransmission or loss timer fires",
    LedgerClass.ACK_WAIT: "nothing is in flight, and the sender goes on when the client acknowledges what arrived",
    LedgerClass.LOSS_DETECTION: "all data was sent, some was dropped, and the sender has not sent it again yet",
    LedgerClass.APPLICATION: "the server's program gives the sender nothing to send",
    LedgerClass.STREAM_CREDIT: "the client's credit for a stream is used up",
    LedgerClass.CONNECTION_CREDIT: "the client's credit for the connection is used up (TCP: the receive window)",
    LedgerClass.HTTP2_STREAM_CREDIT: "the client's credit of HTTP/2 for its streams is used up",
    LedgerClass.HTTP2_CONNECTION_CREDIT: "the client's credit of HTTP/2 for the connection is used up",
    LedgerClass.SEND_BUFFER: "the server's buffer of data that is sent and not acknowledged is full",
    LedgerClass.CONGESTION_WINDOW: "the congestion window is full; detail = the state that made it small",
    LedgerClass.PACING: "the window has room, and the sender spreads its packets over time",
    LedgerClass.CPU: "live trials: what the sender waited for has arrived, and its computer is at work",
    LedgerClass.SERVER_THINK: "a request has arrived and its answer's first byte has not left",
    LedgerClass.STREAM_IDS: "the client may not open a stream for its next request yet",
    LedgerClass.PROPAGATION: "all that was asked for has passed the bottleneck and is on its way to the client",
    LedgerClass.REQUEST: "a request is on its way to the server, and nothing else of this load",
    LedgerClass.CLIENT_IDLE: "everything asked for has arrived, and the client has not asked for the next or ended",
    LedgerClass.UNEXPLAINED: "no rule holds",
}
"""The meaning of each class, in the order in which they are tried: the first that holds counts."""

LINK_CLASSES = frozenset(name for name in LedgerClass if name.startswith("link_"))
"""The classes in which the bottleneck is busy, or holds packets of this load."""


@dataclass
class Decisions:
    """The class and detail of each elementary interval, arrays of shape (N,), decided by rules one after the other.

    An interval that a rule has decided is left alone by those after it. `detail` holds places in `texts`.
    """

    name: Integers  # places in LedgerClass, -1 while undecided
    detail: Integers
    texts: list[str | None] = field(default_factory=lambda: [None])

    @classmethod
    def open(cls, count: int) -> "Decisions":
        """Return undecided intervals."""
        return cls(np.full(count, -1, np.int64), np.zeros(count, np.int64))

    @property
    def undecided(self) -> Booleans:
        """Which intervals no rule has decided."""
        found: Booleans = self.name < 0
        return found

    def decide(self, where: Booleans, name: LedgerClass, detail: str | None = None) -> None:
        """Give a class to the undecided ones of some intervals."""
        chosen = where & self.undecided
        self.name[chosen] = PLACES[name]
        self.detail[chosen] = self.place(detail)

    def adopt(self, chosen: Integers, own: "Decisions") -> None:
        """Take over what was decided about the intervals at some places."""
        translated = np.array([self.place(text) for text in own.texts], np.int64)
        self.name[chosen] = own.name
        self.detail[chosen] = translated[own.detail]

    def place(self, detail: str | None) -> int:
        """Return the place of a detail in `texts`, to which it is added if it is new."""
        if detail not in self.texts:
            self.texts.append(detail)
        return self.texts.index(detail)


PLACES = {name: place for place, name in enumerate(LedgerClass)}
"""The place of each class in the arrays of decisions."""
