"""The passages of a calibration: packets to send, and the link and the kernel's netem that they pass.

Imported in the guest, so light: a guest sends and records packets, and knows no law that they follow. Sizes are bytes
of IP packets, as the link counts them.
"""

from dataclasses import dataclass

from longlook.core import Stage

OURS, NETEM = "longlook", "netem"
EMULATORS = (OURS, NETEM)
PACKETS = "packets.csv"
"""The raw table as the guest writes it."""
PASSAGES = "passages.json"
"""The passages as the guest gets them, in its exchange directory."""


@dataclass(frozen=True)
class Schedule:
    """The times of sending: a group of `per_group` packets each `period_ns`, its packets `spacing_ns` apart."""

    count: int
    period_ns: int = 0
    per_group: int = 1
    spacing_ns: int = 0

    def offsets_ns(self) -> list[int]:
        """Return the time of each packet, in ns from the first."""
        groups = (divmod(number, self.per_group) for number in range(self.count))
        return [group * self.period_ns + place * self.spacing_ns for group, place in groups]


@dataclass(frozen=True)
class Netem:
    """Settings of the kernel's netem. `limit_packets` bounds everything that it holds; rates count IP bytes."""

    limit_packets: int
    rate_bps: int = 0  # 0: no rate
    delay_ns: int = 0
    jitter_ns: int = 0
    loss: float = 0.0


@dataclass(frozen=True)
class Passage:
    """Packets and the link that they pass. After `drain_ns` no packet can still be on its way.

    `netem` is None if the kernel's emulator lacks the law, or has another one of that name. The last of each `one_in`
    packets belongs to another flow. `ecn` is the codepoint of each flow's packets.
    """

    name: str
    stages: tuple[Stage, ...]
    netem: Netem | None
    schedule: Schedule
    size_bytes: int
    drain_ns: int
    one_in: int = 0
    ecn: tuple[int, int] = (0, 0)

    def flow(self, sequence: int) -> int:
        """Return the flow of a packet: 0 or 1."""
        return int(self.one_in > 0 and sequence % self.one_in == self.one_in - 1)
